"""Load a result into Blender: moving points with colour and velocity, and both cameras with their pictures.

    wideflow export result --to fused -o scene/points
    wideflow export result --to nerfstudio -o scene/cameras
    blender --python examples/blender/load_result.py -- scene/points scene/cameras

`--to ply` in place of `--to fused` gives all points of every moment instead of a background and what moves.
Moment t of the result is frame t. The scene is turned so that up is up, keeps its units, and plays at the
speed of the videos. Without Blender, `pip install bpy` has the same module `bpy`: with a third word, such as
scene.blend, the file is saved.

Points are meshes without faces, with the attributes "colour", "velocity" (world units a second, 0 where it is
unknown) and "radius"; nodes of the modifier "Points" make spheres of them for Cycles and EEVEE. Needs Blender
4.1 or newer, which has all that is used here.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

PLY_TYPES = {"float": "<f4", "double": "<f8", "uchar": "u1", "int": "<i4", "uint": "<u4"}
SENSOR = 36.0  # mm, the width of a film that lenses are told for


def read_cloud(path):
    """Points of one of our PLY files: xyz (N, 3), rgb (N, 3) uint8, and velocity (N, 3), 0 where unknown."""
    data = Path(path).read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    lines = data[:end].decode("ascii").splitlines()
    if lines[:2] != ["ply", "format binary_little_endian 1.0"]:
        raise SystemExit(f"'{path}' is not a PLY file of 'wideflow export'")
    count = int(next(line for line in lines if line.startswith("element vertex")).split()[2])
    fields = [line.split()[1:] for line in lines if line.startswith("property")]
    table = np.frombuffer(data, [(name, PLY_TYPES[kind]) for kind, name in fields], count, end)
    xyz, rgb = (
        np.column_stack([table[name] for name in names]) for names in ("xyz", ("red", "green", "blue"))
    )
    velocity = np.zeros_like(xyz)
    if "vx" in table.dtype.names:
        velocity = np.nan_to_num(np.column_stack([table[name] for name in ("vx", "vy", "vz")]))
    return xyz, rgb, velocity


def find_clouds(folder):
    """Files of clouds by the moment that they belong to; those of all moments under None."""
    found = {}
    for path in sorted(Path(folder).glob("*.ply")):
        number = re.fullmatch(r"(?:points|moving)\.([0-9]+)\.ply", path.name)
        if number:
            found[int(number[1])] = path
        elif path.name == "background.ply":
            found[None] = path
    if not found:
        raise SystemExit(
            f"'{folder}' has no points; make it with 'wideflow export RESULT --to fused -o {folder}'"
        )
    return found


def read_cameras(folder):
    """For each of "a" and "b": frames by moment, as transforms.json has them."""
    path = Path(folder) / "transforms.json"
    if not path.exists():
        raise SystemExit(
            f"'{path}' is missing; make it with 'wideflow export RESULT --to nerfstudio -o {folder}'"
        )
    cameras = {"a": {}, "b": {}}
    for frame in json.loads(path.read_text())["frames"]:
        letter, number = Path(frame["file_path"]).stem.split("_")
        cameras[letter][int(number)] = frame
    return cameras


def upright(cameras):
    """Rotation (4, 4) after which z is up in the pictures, on average, and A looks along y at first."""
    poses = [np.array(frame["transform_matrix"]) for frames in cameras.values() for frame in frames.values()]
    up = np.mean([pose[:3, 1] for pose in poses], axis=0)
    up /= np.linalg.norm(up)
    first = cameras["a"][min(cameras["a"])]
    ahead = -np.array(first["transform_matrix"])[:3, 2]
    ahead = ahead - (ahead @ up) * up
    if np.linalg.norm(ahead) < 1e-6:  # it looks straight up or down: any direction will do
        ahead = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    ahead /= np.linalg.norm(ahead)
    turn = np.eye(4)
    turn[:3, :3] = np.stack([np.cross(ahead, up), ahead, up])
    return turn


def lens_of(frame):
    """Focal length in mm of a 36 mm film, and how far the lens is shifted, in widths of the picture."""
    width, height = frame["w"], frame["h"]
    shift = (width / 2 - frame["cx"]) / width, (frame["cy"] - height / 2) / width
    return SENSOR * frame["fl_x"] / width, shift


def frame_rate(frames):
    """Moments a second of one camera's frames; 24 if there is only one."""
    first, last = min(frames), max(frames)
    if first == last:
        return 24.0
    return (last - first) / (frames[last]["seconds"] - frames[first]["seconds"])


def load(points, cameras):
    """Fill the open scene with the points and cameras of two folders; the collection that has them."""
    import bpy

    clouds, frames = find_clouds(points), read_cameras(cameras)
    scene = bpy.context.scene
    rate = frame_rate(frames["a"])
    scene.render.fps = max(1, round(rate))
    scene.render.fps_base = scene.render.fps / rate
    scene.frame_start, scene.frame_end = min(frames["a"]), max(frames["a"])
    scene.view_settings.view_transform = "Standard"  # colours as they were filmed
    collection = bpy.data.collections.new("Wideflow")
    scene.collection.children.link(collection)
    root = bpy.data.objects.new("Wideflow", None)
    root.matrix_world = _matrix(upright(frames))
    collection.objects.link(root)
    for letter in "ab":
        _add_camera(bpy, collection, root, letter, frames[letter], Path(cameras))
    scene.camera = bpy.data.objects["Camera A"]
    first = frames["a"][min(frames["a"])]
    scene.render.resolution_x, scene.render.resolution_y = first["w"], first["h"]
    nodes, moments = _point_nodes(bpy), sorted(number for number in clouds if number is not None)
    for number, path in clouds.items():
        near = frames["a"].get(number, first)
        made = _add_cloud(bpy, collection, root, nodes, path, near)
        if number is not None:
            later = [moment for moment in moments if moment > number]
            _show_only(made, number, later[0] if later else None)
    return collection


def _matrix(array):
    from mathutils import Matrix

    return Matrix(array.tolist())


def _add_camera(bpy, collection, root, letter, frames, folder):
    data = bpy.data.cameras.new(f"Camera {letter.upper()}")
    camera = bpy.data.objects.new(data.name, data)
    collection.objects.link(camera)
    camera.parent = root
    first = frames[min(frames)]
    data.sensor_fit, data.sensor_width = "HORIZONTAL", SENSOR
    data.lens, (data.shift_x, data.shift_y) = lens_of(first)
    camera.rotation_mode = "QUATERNION"
    before = None
    for moment, frame in sorted(frames.items()):
        place, turn, _ = _matrix(np.array(frame["transform_matrix"])).decompose()
        if before is not None and before.dot(turn) < 0:
            turn.negate()  # the same direction, the short way round
        camera.location, camera.rotation_quaternion, before = place, turn, turn.copy()
        camera.keyframe_insert("location", frame=moment)
        camera.keyframe_insert("rotation_quaternion", frame=moment)
    picture = bpy.data.images.load(str((folder / first["file_path"]).resolve()))
    picture.source = "SEQUENCE"
    data.show_background_images = True
    background = data.background_images.new()
    background.image, background.alpha = picture, 0.6
    user = background.image_user
    user.frame_start, user.frame_offset = min(frames), min(frames) - 1  # picture t at frame t
    user.frame_duration = max(frames) - min(frames) + 1
    user.use_auto_refresh = True


def _add_cloud(bpy, collection, root, nodes, path, frame):
    xyz, rgb, velocity = read_cloud(path)
    mesh = bpy.data.meshes.new(path.stem)
    mesh.vertices.add(len(xyz))
    mesh.vertices.foreach_set("co", np.ascontiguousarray(xyz, np.float32).ravel())
    colour = mesh.attributes.new("colour", "BYTE_COLOR", "POINT")
    rgba = np.concatenate([rgb / 255, np.ones((len(rgb), 1))], axis=1).astype(np.float32)
    colour.data.foreach_set("color_srgb", rgba.ravel())
    moves = mesh.attributes.new("velocity", "FLOAT_VECTOR", "POINT")
    moves.data.foreach_set("vector", np.ascontiguousarray(velocity, np.float32).ravel())
    distance = np.linalg.norm(xyz - np.array(frame["transform_matrix"])[:3, 3], axis=1)
    radius = mesh.attributes.new("radius", "FLOAT", "POINT")
    radius.data.foreach_set("value", (0.8 * distance / frame["fl_x"]).astype(np.float32))
    mesh.update()
    made = bpy.data.objects.new(mesh.name, mesh)
    made.parent = root
    collection.objects.link(made)
    made.modifiers.new("Points", "NODES").node_group = nodes
    return made


def _show_only(made, start, stop):
    """Visible from frame ``start`` on, until ``stop``, if there is one."""
    shown = [(start - 1, True), (start, False)] + ([] if stop is None else [(stop, True)])
    for frame, hidden in shown:
        made.hide_viewport = made.hide_render = hidden
        made.keyframe_insert("hide_viewport", frame=frame)
        made.keyframe_insert("hide_render", frame=frame)


def _point_nodes(bpy):
    """Nodes that make spheres of points, in their own colours, whatever the light."""
    material = bpy.data.materials.new("Wideflow points")
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    colour, glow = tree.nodes.new("ShaderNodeAttribute"), tree.nodes.new("ShaderNodeEmission")
    surface = tree.nodes.new("ShaderNodeOutputMaterial")
    colour.attribute_name = "colour"
    tree.links.new(colour.outputs["Color"], glow.inputs["Color"])
    tree.links.new(glow.outputs["Emission"], surface.inputs["Surface"])
    group = bpy.data.node_groups.new("Wideflow points", "GeometryNodeTree")
    for name in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=name, socket_type="NodeSocketGeometry")
    enter, leave = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    radius, points = (
        group.nodes.new("GeometryNodeInputNamedAttribute"),
        group.nodes.new("GeometryNodeMeshToPoints"),
    )
    paint = group.nodes.new("GeometryNodeSetMaterial")
    radius.data_type = "FLOAT"
    radius.inputs["Name"].default_value = "radius"
    paint.inputs["Material"].default_value = material
    group.links.new(enter.outputs[0], points.inputs["Mesh"])
    group.links.new(radius.outputs["Attribute"], points.inputs["Radius"])
    group.links.new(points.outputs[0], paint.inputs["Geometry"])
    group.links.new(paint.outputs[0], leave.inputs[0])
    return group


def main(words):
    if len(words) not in (2, 3):
        raise SystemExit("usage: blender --python load_result.py -- POINTS CAMERAS [OUT.blend]")
    load(words[0], words[1])
    if len(words) == 3:
        import bpy

        bpy.ops.wm.save_as_mainfile(filepath=str(Path(words[2]).resolve()))


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
