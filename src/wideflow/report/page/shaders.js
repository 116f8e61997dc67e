// GLSL of the 3D view. A point is a pixel of A's depth map, lifted here: centre + z * ray (x, y, 1).

const LIFT = `#version 300 es
precision highp float; precision highp int; precision highp usampler2D; precision highp sampler2D;
uniform usampler2D depthMap; uniform sampler2D confidenceMap;
uniform mat4 clipFromWorld; uniform mat3 ray; uniform vec3 centre;
uniform ivec2 grid; uniform float stride, offset, lowest, logStep, threshold;
bool lift(ivec2 p, out vec3 world, out float z) {
  uint level = texelFetch(depthMap, p, 0).r;
  z = exp(lowest + logStep * (float(level) - 1.0));
  world = centre + z * (ray * vec3(vec2(p) * stride + offset, 1.0));
  return level > 0u && texelFetch(confidenceMap, p, 0).r >= threshold;
}
const vec4 NOWHERE = vec4(0.0, 0.0, 2.0, 1.0);
`;

const POINTS_VERTEX = LIFT + `
uniform sampler2D picture; uniform float pixelsPerUnit, pointSize, largest, focal;
uniform vec2 screen; uniform int coarse;
out vec3 colour; flat out float size;
// pixels on the screen to a neighbour, 0 if it is on another surface
float gap(ivec2 q, float z) {
  vec3 world; float other;
  if (any(lessThan(q, ivec2(0))) || any(greaterThanEqual(q, grid)) || !lift(q, world, other)) return 0.0;
  if (abs(other - z) > 0.1 * z) return 0.0;
  vec4 clip = clipFromWorld * vec4(world, 1.0);
  vec2 apart = abs(clip.xy / clip.w - gl_Position.xy / gl_Position.w) * screen * 0.5;
  return clip.w > 0.0 ? max(apart.x, apart.y) : 0.0;
}
// the smaller of the gaps to both sides: at an edge one of them leads to another surface
float reach(ivec2 p, ivec2 to, float z) { return min(gap(p + to, z), gap(p - to, z)); }
void main() {
  int across = (grid.x + coarse - 1) / coarse;
  ivec2 p = ivec2(gl_VertexID % across, gl_VertexID / across) * coarse;
  vec3 world; float z;
  if (!lift(p, world, z)) { gl_Position = NOWHERE; gl_PointSize = 1.0; return; }
  gl_Position = clipFromWorld * vec4(world, 1.0);
  colour = textureLod(picture, (vec2(p) + 0.5) / vec2(grid), 0.0).rgb;
  // at least as wide as the pixel was there, and up to the neighbours on the same surface: no holes from any side
  float own = pixelsPerUnit * (z * stride / focal) / gl_Position.w;
  float apart = max(reach(p, ivec2(1, 0), z), reach(p, ivec2(0, 1), z));
  size = clamp(float(coarse) * pointSize * max(own, min(apart, 6.0 * own)), 1.0, largest);
  gl_PointSize = size;
}`;

const POINTS_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 colour; flat in float size; out vec4 result;
void main() {
  vec2 d = gl_PointCoord * 2.0 - 1.0;
  if (size > 3.0 && dot(d, d) > 1.1) discard;
  result = vec4(colour, 1.0);
}`;

// an arrow: six corners of a shaft, three of a head, wide in pixels whatever the distance
const VECTORS_VERTEX = LIFT + `
uniform sampler2D motionMap; uniform ivec2 cells; uniform int skip, spacing; uniform float lengthen, outline;
uniform vec2 screen;
out vec3 tint;
void main() {
  int across = (cells.x + skip - 1) / skip;
  ivec2 cell = ivec2(gl_InstanceID % across, gl_InstanceID / across) * skip;
  ivec2 p = cell * spacing + spacing / 2;
  vec3 world; float z;
  vec3 motion = texelFetch(motionMap, cell, 0).xyz * lengthen;
  bool shown = p.x < grid.x && p.y < grid.y && lift(p, world, z);
  if (!shown) { gl_Position = NOWHERE; return; }
  vec4 tail = clipFromWorld * vec4(world, 1.0), tip = clipFromWorld * vec4(world + motion, 1.0);
  vec2 step = (tip.xy / tip.w - tail.xy / tail.w) * screen * 0.5;
  float pixels = length(step);
  if (tail.w <= 0.0 || tip.w <= 0.0 || pixels < 4.0) { gl_Position = NOWHERE; return; }
  vec2 along = step / pixels, aside = vec2(-along.y, along.x);
  float head = min(8.0, 0.5 * pixels), t, side;
  int v = gl_VertexID;
  float edge = 0.8 * outline, shaft = 1.1 + edge, wide = 0.4 * head + 0.8 + 1.6 * edge;
  float beyond = 2.2 * edge;
  if (v < 6) { int c = v == 3 ? 2 : v == 4 ? 1 : v == 5 ? 3 : v; t = c < 2 ? -edge : pixels - head; side = (c % 2 == 0 ? -1.0 : 1.0) * shaft; }
  else { t = v == 8 ? pixels + beyond : pixels - head - edge; side = v == 8 ? 0.0 : (v == 6 ? -1.0 : 1.0) * wide; }
  float share = clamp(t / pixels, 0.0, 1.0);
  vec4 clip = mix(tail, tip, share);
  vec2 place = tail.xy / tail.w + (along * t + aside * side) / screen * 2.0;
  float z01 = mix(tail.z / tail.w, tip.z / tip.w, share);
  gl_Position = vec4(place, z01 - 2e-5 * (2.0 - outline), 1.0);
  tint = outline > 0.0 ? vec3(0.05) : mix(vec3(1.0, 0.85, 0.1), vec3(1.0, 0.32, 0.12), share);
}`;

const VECTORS_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint; out vec4 result;
void main() { result = vec4(tint, 1.0); }`;

// a piece of a trail from a moment to the next: a strip that is wide in pixels, dark while the point is hidden
const TRAILS_VERTEX = `#version 300 es
precision highp float; precision highp int; precision highp sampler2D;
uniform sampler2D places; uniform mat4 clipFromWorld; uniform vec2 screen; uniform int moment, tail;
out vec3 tint;
void main() {
  int n = gl_InstanceID / tail, age = gl_InstanceID % tail, t = moment - age;
  gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
  if (t < 1) return;
  vec4 old = texelFetch(places, ivec2(t - 1, n), 0), now = texelFetch(places, ivec2(t, n), 0);
  vec4 a = clipFromWorld * vec4(old.xyz, 1.0), b = clipFromWorld * vec4(now.xyz, 1.0);
  vec2 step = (b.xy / b.w - a.xy / a.w) * screen * 0.5;
  if (old.w < 0.0 || now.w < 0.0 || a.w <= 0.0 || b.w <= 0.0 || length(step) < 0.3) return;
  vec2 aside = normalize(vec2(-step.y, step.x)) * (1.8 - 1.2 * float(age) / float(tail));
  int c = gl_VertexID == 3 ? 2 : gl_VertexID == 4 ? 1 : gl_VertexID == 5 ? 3 : gl_VertexID;
  vec4 end = c < 2 ? a : b;
  gl_Position = vec4(end.xy / end.w + aside * (c % 2 == 0 ? -1.0 : 1.0) / screen * 2.0, end.z / end.w - 2e-5, 1.0);
  vec3 hue = clamp(abs(mod(6.0 * fract(float(n) * 0.61803) + vec3(0.0, 4.0, 2.0), 6.0) - 3.0) - 1.0, 0.0, 1.0);
  tint = mix(vec3(1.0), hue, 0.75) * (now.w > 0.5 ? 1.0 : 0.45);
}`;

const SOLID_VERTEX = `#version 300 es
precision highp float;
in vec3 place; in vec2 at; uniform mat4 clipFromWorld; out vec2 uv;
void main() { gl_Position = clipFromWorld * vec4(place, 1.0); uv = at; }`;

const SOLID_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 uv; uniform sampler2D picture; uniform vec4 paint; out vec4 result;
void main() { result = paint.a < 0.0 ? vec4(texture(picture, uv).rgb, 1.0) : paint; }`;
