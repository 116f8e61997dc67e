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

const SOLID_VERTEX = `#version 300 es
precision highp float;
in vec3 place; in vec2 at; uniform mat4 clipFromWorld; out vec2 uv;
void main() { gl_Position = clipFromWorld * vec4(place, 1.0); uv = at; }`;

const SOLID_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 uv; uniform sampler2D picture; uniform vec4 paint; out vec4 result;
void main() { result = paint.a < 0.0 ? vec4(texture(picture, uv).rgb, 1.0) : paint; }`;
