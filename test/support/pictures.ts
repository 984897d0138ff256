import sharp from 'sharp'

type Size = { width: number; height: number }
const red = { r: 255, g: 0, b: 0 }
const blue = { r: 0, g: 0, b: 255 }

/** Returns a picture in a single color. */
export const plain = ({ width, height }: Size, background: string | typeof red = red) =>
  sharp({ create: { width, height, channels: 3, background } })

/** Returns a picture with a red left half and a blue right half. */
export async function halves({ width, height }: Size) {
  const right = await plain({ width: width / 2, height }, blue)
    .png()
    .toBuffer()
  return plain({ width, height }).composite([{ input: right, left: width / 2, top: 0 }])
}

/** Returns an animated WebP with a red and a blue frame. */
export async function animation({ width, height }: Size): Promise<Buffer> {
  const frames = await Promise.all([red, blue].map((colour) => plain({ width, height }, colour).png().toBuffer()))
  return sharp(frames, { join: { animated: true } })
    .webp({ loop: 0, delay: [100, 100] })
    .toBuffer()
}

const loadSvg = { operation: ['VipsForeignLoadSvgBuffer'] }

/** Returns the metadata of an SVG picture. Temporarily unblocks SVG, which the server blocks in the image library for the whole process. */
export async function readSvg(svg: Buffer | string) {
  sharp.unblock(loadSvg)
  try {
    const { format, width, height } = await sharp(Buffer.from(svg)).metadata()
    return { format, width, height }
  } finally {
    sharp.block(loadSvg)
  }
}

/** Returns the color of a pixel: `red`, `blue` or its RGB values. */
export async function colourAt(picture: Buffer, left: number, top: number): Promise<string> {
  const [r = 0, g = 0, b = 0] = await sharp(picture).extract({ left, top, width: 1, height: 1 }).removeAlpha().raw().toBuffer()
  return r > 200 && g < 60 && b < 60 ? 'red' : b > 200 && r < 60 && g < 60 ? 'blue' : `${r} ${g} ${b}`
}

/** Returns the body and headers of a multipart form with one file. */
export async function form(bytes: Buffer | string, { field = 'file', name = 'me.png', type = 'image/png' } = {}) {
  const data = new FormData()
  data.set(field, new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], { type }), name)
  const request = new Response(data)
  return {
    body: Buffer.from(await request.arrayBuffer()),
    options: { headers: { 'content-type': request.headers.get('content-type') ?? '' } },
  }
}
