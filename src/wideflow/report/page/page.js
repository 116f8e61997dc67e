// Wires the controls to the pictures and the 3D view.

const meta = JSON.parse(document.getElementById("meta").textContent);
const element = (id) => document.getElementById(id);
const root = document.documentElement;
const large = element("large");

// ---- theme: the system's until the reader says otherwise
const wished = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
let cloud = null;

function applyTheme() {
  const dark = chosen === null ? wished.matches : chosen === "dark";
  root.dataset.theme = dark ? "dark" : "light";
  element("theme-name").textContent = dark ? "Light" : "Dark";
  if (!cloud) return;
  const hex = getComputedStyle(root).getPropertyValue("--sky").trim();
  cloud.background = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  cloud.redraw();
}
wished.addEventListener("change", applyTheme);
element("theme").addEventListener("click", () => {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  applyTheme();
});

// ---- moments: from this file, or from the server of `wideflow view`
const cache = new Map();
const KEPT = 12;

async function load(t) {
  let text;
  if (meta.embedded) text = element(`moment-${t}`).textContent;
  else {
    const answer = await fetch(`moment/${t}`);
    if (!answer.ok) throw new Error(`moment ${t}: ${await answer.text()}`);
    text = await answer.text();
  }
  const moment = JSON.parse(text);
  const [points, ...pictures] = await Promise.all([decodeCloud(moment.cloud), decodePicture(moment.images.a), decodePicture(moment.images.b)]);
  return { ...moment, points, pictures };
}

function moment(t) {
  const found = cache.get(t) || load(t);
  cache.delete(t);
  cache.set(t, found);
  found.catch(() => cache.delete(t));
  if (cache.size > KEPT) cache.delete(cache.keys().next().value);
  return found;
}

let wanted = 0;
async function show(position) {
  wanted = position;
  const t = meta.moments[position];
  let now;
  try {
    now = await moment(t);
  } catch (error) {
    element("cloud-note").textContent = `Moment ${t} cannot be shown: ${error.message}`;
    return;
  }
  if (wanted !== position) return;
  for (const image of document.querySelectorAll("[data-panel]")) {
    const source = now.images[image.dataset.panel];
    image.closest("figure").classList.toggle("empty", !source);
    if (source) image.src = source;
  }
  element("moment-out").textContent = `moment ${t} of ${meta.moments[meta.moments.length - 1]} · ${now.times[0].toFixed(2)} s`;
  for (const chart of document.querySelectorAll(".chart svg")) {
    const { left, inner, last } = chart.dataset;
    const x = Number(left) + Number(inner) * Math.min(1, t / Number(last));
    chart.querySelector(".cursor").setAttribute("x1", x);
    chart.querySelector(".cursor").setAttribute("x2", x);
  }
  if (cloud) {
    if (!cloud.orbit) startView(now.points);
    cloud.show(now.points, now.pictures, t);
    countPoints();
  }
  root.dataset.moment = t;
  if (position + 1 < meta.moments.length) moment(meta.moments[position + 1]).catch(() => {});
}

function countPoints() {
  const points = cloud.moment;
  if (!points) return;
  const least = Math.round(255 * (cloud.settings.threshold - 1e-3));
  let count = 0;
  for (let i = 0; i < points.depth.length; i++) count += points.depth[i] > 0 && points.confidence[i] >= least;
  const thinned = points.stride > 1 ? `, every ${points.stride * points.stride}th pixel` : "";
  element("cloud-note").textContent = `${count.toLocaleString("en-GB")} points${thinned}`;
}

// ---- time
const slider = element("moment");
let timer = 0;

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => go((Number(slider.value) + 1) % meta.moments.length), 160) : 0;
  element("play").setAttribute("aria-pressed", String(Boolean(on)));
  element("play").firstElementChild.textContent = on ? "⏸" : "▶";
  element("play-name").textContent = on ? "Pause" : "Play";
}

function go(position) {
  slider.value = Math.max(0, Math.min(meta.moments.length - 1, position));
  return show(Number(slider.value));
}
slider.addEventListener("input", () => show(Number(slider.value)));
document.querySelector("form.controls").addEventListener("submit", (event) => event.preventDefault());
element("play").addEventListener("click", () => play(!timer));
document.addEventListener("keydown", (event) => {
  if (large.open || event.target.closest("input, button, summary, canvas, a") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step) go(Number(slider.value) + step);
  else if (event.key === " ") play(!timer);
  else return;
  event.preventDefault();
});

// ---- enlarged pictures
for (const button of document.querySelectorAll(".grid button")) {
  button.addEventListener("click", () => {
    const image = button.querySelector("img");
    Object.assign(large.querySelector("img"), { src: image.src, alt: image.alt });
    large.querySelector("p").textContent = button.parentElement.querySelector("figcaption").textContent;
    large.showModal();
  });
}

// ---- tracks: most results have none
if (!meta.trails) {
  element("trails").parentElement.hidden = true;
  document.querySelector("[data-panel=tracks]").closest("figure").remove();
}

// ---- the 3D view and its controls
function startView(points) {
  const [a, b] = points.views;
  const forward = transform(a.ray, [a.size[0] / 2, a.size[1] / 2, 1]);
  cloud.orbit = new Orbit(meta.up, forward, meta.middle);
  lookFrom("start");
}

function lookFrom(name) {
  const views = cloud.moment ? cloud.moment.views : null;
  const orbit = cloud.orbit;
  const centreRay = (view) => transform(view.ray, [view.size[0] / 2, view.size[1] / 2, 1]);
  const aspect = cloud.canvas.clientWidth / Math.max(1, cloud.canvas.clientHeight);
  cloud.fov = 0.8;
  orbit.target = [0, 0, 0];
  if (name === "a" || name === "b") {
    const view = views[name === "a" ? 0 : 1];
    cloud.fov = 2 * Math.atan(1.03 * Math.max(view.size[1], view.size[0] / aspect) / 2 / view.focal);
    orbit.lookAlong(view.centre, centreRay(view), meta.middle);
  } else {
    const [yaw, pitch, far, nearer] = { start: [0.5, 0.26, 1.45, 0.2], side: [1.25, 0.1, 1.9, 0], top: [0, 1.35, 1.9, 0] }[name];
    Object.assign(orbit, { yaw, pitch, distance: far * meta.middle * Math.max(1, 1.35 / aspect), target: scaled(orbit.ahead, -nearer * meta.middle) });
  }
  cloud.redraw();
}

function bind(id, words, change) {
  const input = element(id);
  const update = () => {
    const value = input.type === "checkbox" ? input.checked : Number(input.value);
    if (words) element(`${id}-out`).textContent = words(value);
    change(value);
    cloud.redraw();
  };
  input.addEventListener("input", update);
  update();
}

function bindControls() {
  const settings = cloud.settings;
  const threshold = () => {
    settings.threshold = Math.max(Number(element("threshold").value), element("trusted").checked ? 0.51 : 0);
    countPoints();
  };
  element("length").value = meta.vectorLength;
  bind("trusted", null, threshold);
  bind("threshold", (v) => `${Math.round(100 * v)} %`, threshold);
  bind("size", (v) => `× ${v.toFixed(1)}`, (v) => (settings.size = v));
  bind("vectors", null, (v) => (settings.vectors = v));
  bind("density", (v) => `every ${25 * v * v}th point`, (v) => (settings.skip = v));
  bind("length", (v) => `× ${v}`, (v) => (settings.lengthen = v));
  bind("trails", null, (v) => (settings.trails = v));
  bind("cameras", null, (v) => (settings.cameras = v));
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => cloud.orbit && lookFrom(button.dataset.view));
}

function bindMouse(canvas) {
  const held = new Map();
  const spread = () => {
    const [p, q] = [...held.values()];
    return Math.hypot(p[0] - q[0], p[1] - q[1]);
  };
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => held.delete(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before || !cloud.orbit) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    const height = canvas.clientHeight;
    const two = held.size > 1;
    const apart = two ? spread() : 0;
    held.set(event.pointerId, [event.clientX, event.clientY]);
    if (two) cloud.orbit.zoom(apart / Math.max(1, spread()));
    if (two || event.shiftKey || event.buttons & 6) cloud.orbit.pan((two ? 0.5 : 1) * dx / height, (two ? 0.5 : 1) * dy / height, cloud.fov);
    else cloud.orbit.turn((2.5 * dx) / height, (2.5 * dy) / height);
    cloud.move();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!cloud.orbit) return;
    event.preventDefault();
    cloud.orbit.zoom(Math.exp(Math.max(-0.3, Math.min(0.3, event.deltaY * 0.0012))));
    cloud.move();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (!cloud.orbit) return;
    const turns = { ArrowLeft: [0.08, 0], ArrowRight: [-0.08, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] };
    if (turns[event.key]) cloud.orbit.turn(...turns[event.key]);
    else if (event.key === "+" || event.key === "=") cloud.orbit.zoom(0.9);
    else if (event.key === "-") cloud.orbit.zoom(1 / 0.9);
    else if (event.key === "Home") lookFrom("start");
    else return;
    event.preventDefault();
    cloud.move();
  });
}

try {
  cloud = new Cloud(element("cloud"), meta);
  applyTheme();
  bindControls();
  bindMouse(element("cloud"));
} catch (error) {
  cloud = null;
  applyTheme();
  element("cloud-note").textContent = error.message;
}
await show(0);
if (cloud && meta.trails) cloud.setTrails(await decodeTrails(meta.trails));
root.dataset.ready = "true";
