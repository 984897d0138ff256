import sharp from 'sharp'
import { expect, it } from 'vitest'
import { imageTypeOf, isText } from '../../../server/registry/files/content.ts'
import { dimensionsOf, isShowable } from '../../../server/registry/files/dimensions.ts'
import { plain } from '../../support/pictures.ts'

const size = { width: 321, height: 123 }

it.each(['png', 'jpeg', 'gif', 'webp', 'avif'] as const)('reads the dimensions of a %s', async (format) => {
  const bytes = await plain(size).toFormat(format).toBuffer()
  const type = imageTypeOf(bytes) ?? ''
  expect(type).toBe(`image/${format}`)
  expect(dimensionsOf(bytes, type)).toEqual(size)
  for (const length of [0, 8]) expect(dimensionsOf(bytes.subarray(0, length), type)).toBe(null)
})

it('reads the dimensions of other forms of WebP and JPEG', async () => {
  const lossless = await plain(size).webp({ lossless: true }).toBuffer()
  const extended = await sharp({ create: { ...size, channels: 4, background: { r: 1, g: 2, b: 3, alpha: 0.5 } } })
    .webp()
    .toBuffer()
  const progressive = await plain(size).jpeg({ progressive: true }).withMetadata().toBuffer()
  expect([dimensionsOf(lossless, 'image/webp'), dimensionsOf(extended, 'image/webp')]).toEqual([size, size])
  expect(dimensionsOf(progressive, 'image/jpeg')).toEqual(size)
})

it('does not show images without dimensions or with too many pixels', async () => {
  const png = await plain(size).png().toBuffer()
  expect(isShowable(png, 'image/png')).toBe(true)
  png.writeUInt32BE(2_000_000, 16)
  expect(isShowable(png, 'image/png')).toBe(false)
  expect(isShowable(Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'image/jpeg')).toBe(false)
})

it.each([
  ['<svg></svg>', 'image/svg+xml'],
  ['\ufeff<?xml version="1.0"?>\n<!-- a --><!DOCTYPE svg PUBLIC "x">\n<svg xmlns="x">', 'image/svg+xml'],
  ['<!-- <svg> --><html><svg></svg></html>', null],
  ['<svgx>', null],
  ['<!--'.repeat(2000), null],
  ['BM6', null],
])('recognizes the type of %s', (text, expected) => {
  expect(imageTypeOf(Buffer.from(text))).toBe(expected)
})

it('recognizes text by its encoding', () => {
  expect(isText(Buffer.from('ä'.repeat(20)))).toBe(true)
  expect(isText(Buffer.from(`a${'ä'.repeat(10_000)}`).subarray(0, 16 * 1024))).toBe(true)
  expect(isText(Buffer.from([0x61, 0, 0x62]))).toBe(false)
  expect(isText(Buffer.from([0xff, 0xfe, 0x62]))).toBe(false)
})
