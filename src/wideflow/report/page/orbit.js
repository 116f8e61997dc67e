// A camera that turns around a point, with a fixed direction up. Vectors are arrays of three numbers.

const add = (a, b, s = 1) => a.map((v, i) => v + s * b[i]);
const scaled = (a, s) => a.map((v) => v * s);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));
// row-major 3x3 times vector
const transform = (m, v) => [0, 3, 6].map((r) => m[r] * v[0] + m[r + 1] * v[1] + m[r + 2] * v[2]);

class Orbit {
  constructor(up, forward, distance) {
    this.up = unit(up);
    const flat = add(forward, this.up, -dot(forward, this.up));
    this.ahead = unit(Math.hypot(...flat) > 1e-6 ? flat : cross(this.up, [1, 0, 0]));
    this.right = cross(this.ahead, this.up);
    this.scale = distance;
    Object.assign(this, { target: [0, 0, 0], yaw: 0, pitch: 0, distance });
  }

  // where the camera looks, from yaw (to the right) and pitch (down)
  direction() {
    const [c, s] = [Math.cos(this.pitch), Math.sin(this.pitch)];
    const level = add(scaled(this.ahead, Math.cos(this.yaw)), this.right, -Math.sin(this.yaw));
    return add(scaled(level, c), this.up, -s);
  }

  eye() {
    return add(this.target, this.direction(), -this.distance);
  }

  // from the eye through a point that becomes the new centre
  lookAlong(eye, direction, distance) {
    const d = unit(direction);
    this.pitch = -Math.asin(Math.max(-1, Math.min(1, dot(d, this.up))));
    this.yaw = -Math.atan2(dot(d, this.right), dot(d, this.ahead));
    this.distance = distance;
    this.target = add(eye, d, distance);
  }

  turn(dx, dy) {
    this.yaw += dx;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch + dy));
  }

  zoom(factor) {
    this.distance = Math.max(0.02 * this.scale, Math.min(30 * this.scale, this.distance * factor));
  }

  // dx, dy in shares of the picture's height
  pan(dx, dy, fov) {
    const d = this.direction();
    const right = unit(cross(d, this.up));
    const span = 2 * this.distance * Math.tan(fov / 2);
    this.target = add(add(this.target, right, -dx * span), cross(right, d), dy * span);
  }

  // column-major 4x4 for WebGL, times the projection
  matrix(fov, aspect) {
    const d = this.direction();
    const right = unit(cross(d, this.up));
    const above = cross(right, d);
    const eye = this.eye();
    const near = Math.max(0.002 * this.scale, 0.02 * this.distance);
    const far = 400 * this.scale;
    const f = 1 / Math.tan(fov / 2);
    const [a, b] = [(far + near) / (far - near), (-2 * far * near) / (far - near)];
    const row = (v, s) => [v[0] * s, v[1] * s, v[2] * s, -dot(v, eye) * s];
    const depth = row(d, 1);
    const rows = [row(right, f / aspect), row(above, f), depth.map((v, i) => v * a + (i === 3 ? b : 0)), depth];
    return Float32Array.from({ length: 16 }, (_, i) => rows[i % 4][i >> 2]);
  }
}
