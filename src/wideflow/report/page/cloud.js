// The 3D view: draws only when something has changed, and fewer points while it moves if that is slow.

const SLOW = 80; // milliseconds a picture; then every second point in x and y, or fewer
const REST = 200; // milliseconds without movement after which all points are drawn

class Cloud {
  constructor(canvas, meta) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser has no WebGL 2, so the 3D view stays empty; all pictures are below.");
    Object.assign(this, { canvas, gl, meta, moment: null, pending: false, coarse: 1, moved: 0, rest: 0 });
    this.settings = { threshold: 0, size: 1.2, vectors: true, skip: 2, lengthen: 1, trails: true, cameras: true };
    this.fov = 0.8;
    this.points = this.program(POINTS_VERTEX, POINTS_FRAGMENT);
    this.arrows = this.program(VECTORS_VERTEX, VECTORS_FRAGMENT);
    this.strips = this.program(TRAILS_VERTEX, VECTORS_FRAGMENT);
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.empty = gl.createVertexArray();
    this.corners = gl.createBuffer();
    this.largest = gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE)[1];
    this.textures = {};
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
    gl.enable(gl.DEPTH_TEST);
    new ResizeObserver(() => this.redraw()).observe(canvas);
  }

  program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
    gl.bindAttribLocation(program, 1, "at");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "shader");
    const places = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      places[name] = gl.getUniformLocation(program, name);
    }
    return { program, places };
  }

  texture(name, filter, upload) {
    const gl = this.gl;
    gl.deleteTexture(this.textures[name] || null);
    this.textures[name] = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.textures[name]);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, filter);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    upload(gl, gl.TEXTURE_2D);
  }

  // one moment as decodeCloud gives it, and the pictures of both cameras
  show(moment, pictures, t) {
    const { width: w, height: h, motion } = moment;
    Object.assign(this, { moment, now: t });
    this.texture("depth", this.gl.NEAREST, (gl, at) => gl.texImage2D(at, 0, gl.R16UI, w, h, 0, gl.RED_INTEGER, gl.UNSIGNED_SHORT, moment.depth));
    this.texture("confidence", this.gl.NEAREST, (gl, at) => gl.texImage2D(at, 0, gl.R8, w, h, 0, gl.RED, gl.UNSIGNED_BYTE, moment.confidence));
    if (motion) {
      this.texture("motion", this.gl.NEAREST, (gl, at) => gl.texImage2D(at, 0, gl.RGBA32F, motion.width, motion.height, 0, gl.RGBA, gl.FLOAT, moment.vectors));
    }
    pictures.forEach((picture, i) => {
      this.texture(`picture${i}`, this.gl.LINEAR, (gl, at) => gl.texImage2D(at, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture));
    });
    this.redraw();
  }

  // trails as decodeTrails gives them
  setTrails(trails) {
    this.trails = trails;
    this.texture("trails", this.gl.NEAREST, (gl, at) => gl.texImage2D(at, 0, gl.RGBA32F, trails.moments, trails.count, 0, gl.RGBA, gl.FLOAT, trails.texels));
    this.redraw();
  }

  // the view moves: pictures must come fast rather than whole
  move() {
    const since = performance.now() - this.moved;
    clearTimeout(this.rest);
    if (!this.pending) {
      if (this.moving && since > SLOW) this.coarse = Math.min(8, this.coarse * 2);
      else if (this.moving && since < SLOW / 4) this.coarse = Math.max(1, this.coarse / 2);
      this.moved = performance.now();
    }
    this.moving = true;
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
      if (!this.moving) return;
      clearTimeout(this.rest);
      this.rest = setTimeout(() => {
        this.moving = false;
        if (this.coarse > 1) this.redraw();
      }, REST);
    });
  }

  use({ program, places }, values) {
    const gl = this.gl;
    gl.useProgram(program);
    let unit = 0;
    for (const [name, [kind, value]] of Object.entries(values)) {
      const place = places[name];
      if (!place) continue;
      if (kind === "texture") {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D, value);
        gl.uniform1i(place, unit++);
      } else if (kind.startsWith("Matrix")) gl[`uniform${kind}`](place, kind === "Matrix3fv", value);
      else gl[`uniform${kind}`](place, value);
    }
  }

  draw() {
    const { gl, canvas, moment, settings } = this;
    const density = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth * density, canvas.clientHeight * density].map((n) => Math.max(1, Math.round(n)));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(...this.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!moment || !this.orbit) return;
    const matrix = this.orbit.matrix(this.fov, width / height);
    const view = moment.views[0];
    const coarse = this.moving ? this.coarse : 1;
    const shared = {
      clipFromWorld: ["Matrix4fv", matrix], ray: ["Matrix3fv", view.ray], centre: ["3fv", view.centre],
      depthMap: ["texture", this.textures.depth], confidenceMap: ["texture", this.textures.confidence],
      grid: ["2iv", [moment.width, moment.height]], stride: ["1f", moment.stride], offset: ["1f", moment.offset],
      lowest: ["1f", moment.lowest], logStep: ["1f", moment.step], threshold: ["1f", settings.threshold - 1e-3],
    };
    gl.bindVertexArray(this.empty);
    this.use(this.points, {
      ...shared, picture: ["texture", this.textures.picture0], focal: ["1f", view.focal], coarse: ["1i", coarse],
      screen: ["2fv", [width, height]], pixelsPerUnit: ["1f", height / 2 / Math.tan(this.fov / 2)], pointSize: ["1f", settings.size], largest: ["1f", Math.min(this.largest, 48)],
    });
    gl.drawArrays(gl.POINTS, 0, Math.ceil(moment.width / coarse) * Math.ceil(moment.height / coarse));
    if (settings.vectors && moment.motion) this.drawVectors(shared, [width, height]);
    if (settings.trails && this.trails) {
      const { tail, count } = this.trails;
      this.use(this.strips, {
        clipFromWorld: ["Matrix4fv", matrix], places: ["texture", this.textures.trails], screen: ["2fv", [width, height]],
        moment: ["1i", this.now], tail: ["1i", tail],
      });
      gl.drawArraysInstanced(gl.TRIANGLES, 0, 6, tail * count);
    }
    if (settings.cameras) moment.views.forEach((each, i) => this.drawCamera(each, matrix, i));
  }

  drawVectors(shared, screen) {
    const { moment, settings, gl } = this;
    const cells = [moment.motion.width, moment.motion.height];
    const count = cells.reduce((n, side) => n * Math.ceil(side / settings.skip), 1);
    for (const outline of [1, 0]) { // a dark edge first: light vectors stand out from light points too
      this.use(this.arrows, {
        ...shared, motionMap: ["texture", this.textures.motion], cells: ["2iv", cells], skip: ["1i", settings.skip],
        spacing: ["1i", moment.motion.grid], lengthen: ["1f", settings.lengthen], screen: ["2fv", screen], outline: ["1f", outline],
      });
      gl.drawArraysInstanced(gl.TRIANGLES, 0, 9, count);
    }
  }

  drawCamera(view, matrix, index) {
    const gl = this.gl;
    const reach = 0.13 * this.meta.middle;
    // a camera that we look through would hide everything
    if (Math.hypot(...add(this.orbit.eye(), view.centre, -1)) < 1.6 * reach) return;
    const [w, h] = view.size;
    const corner = (x, y) => add(view.centre, transform(view.ray, [x, y, 1]), reach);
    const c = [corner(-0.5, -0.5), corner(w - 0.5, -0.5), corner(w - 0.5, h - 0.5), corner(-0.5, h - 0.5)];
    const uv = [[0, 0], [1, 0], [1, 1], [0, 1]];
    const vertex = (i) => [...c[i], ...uv[i]];
    const apex = [...view.centre, 0, 0];
    const lines = [0, 1, 2, 3].flatMap((i) => [...vertex(i), ...vertex((i + 1) % 4), ...apex, ...vertex(i)]);
    const data = new Float32Array([...[0, 1, 2, 0, 2, 3].flatMap(vertex), ...lines]);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    for (const [slot, size, start] of [[0, 3, 0], [1, 2, 12]]) {
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, size, gl.FLOAT, false, 20, start);
    }
    const shared = { clipFromWorld: ["Matrix4fv", matrix], picture: ["texture", this.textures[`picture${index}`]] };
    this.use(this.solid, { ...shared, paint: ["4fv", [0, 0, 0, -1]] });
    gl.drawArrays(gl.TRIANGLES, 0, 6);
    this.use(this.solid, { ...shared, paint: ["4fv", index === 0 ? [0.1, 0.65, 1, 1] : [1, 0.45, 0.1, 1]] });
    gl.drawArrays(gl.LINES, 6, 16);
    gl.disableVertexAttribArray(0);
    gl.disableVertexAttribArray(1);
  }
}
