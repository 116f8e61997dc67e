// From text to arrays: the other half of cloud.py.

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Uint16Array of width x height from high bytes, low bytes, zigzag and differences along rows.
async function unpack(text, width, height) {
  const planes = await inflate(text);
  const count = width * height;
  const values = new Uint16Array(count);
  let first = 0;
  for (let y = 0, i = 0; y < height; y++) {
    let value = first;
    for (let x = 0; x < width; x++, i++) {
      const code = (planes[i] << 8) | planes[count + i];
      value += (code >>> 1) ^ -(code & 1);
      values[i] = value;
      if (x === 0) first = value;
    }
  }
  return values;
}

async function decodeCloud(cloud) {
  const { width, height, motion } = cloud;
  const [depth, levels] = await Promise.all([
    unpack(cloud.depth, width, height),
    unpack(cloud.confidence, width, height),
  ]);
  const confidence = new Uint8Array(width * height);
  for (let i = 0; i < confidence.length; i++) confidence[i] = Math.round((levels[i] * 255) / cloud.confidenceSteps);
  let vectors = null;
  if (motion) {
    const planes = await Promise.all(motion.planes.map((plane) => unpack(plane, motion.width, motion.height)));
    vectors = new Float32Array(4 * motion.width * motion.height);
    for (let axis = 0; axis < 3; axis++) {
      const signed = new Int16Array(planes[axis].buffer);
      for (let i = 0; i < signed.length; i++) vectors[4 * i + axis] = signed[i] * motion.scale;
    }
  }
  return { ...cloud, depth, confidence, vectors };
}

// xyz and whether it is seen, of a moment after the other and track by track; w is -1 where nothing is known
async function decodeTrails(trails) {
  const { count, moments, low, step } = trails;
  const [places, seen] = await Promise.all([unpack(trails.places, moments, 3 * count), unpack(trails.seen, moments, count)]);
  const texels = new Float32Array(4 * moments * count);
  for (let n = 0; n < count; n++) {
    for (let t = 0; t < moments; t++) {
      const at = 4 * (n * moments + t);
      texels[at + 3] = seen[n * moments + t];
      for (let axis = 0; axis < 3; axis++) {
        const level = places[(3 * n + axis) * moments + t];
        texels[at + axis] = low + step * (level - 1);
        if (level === 0) texels[at + 3] = -1;
      }
    }
  }
  return { ...trails, texels };
}

async function decodePicture(url) {
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  return picture;
}
