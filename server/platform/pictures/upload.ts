import type { FastifyRequest } from 'fastify'
import { bodyTooLarge, invalidInput, unsupportedMediaType } from '../../errors.ts'
import { bodyFault } from '../http/bodies.ts'

const maxBytes = 5 * 1024 * 1024
const formOverhead = 64 * 1024

/**
 * Reads a picture from the form field `file`, up to 5 MiB.
 * @throws ApiError InvalidInput without a file; UnsupportedMediaType for another body; BodyTooLarge.
 */
export async function readPicture(request: FastifyRequest): Promise<Buffer> {
  let picture: Buffer | undefined
  try {
    if (!request.isMultipart()) throw unsupportedMediaType('multipart/form-data')
    if (Number(request.headers['content-length'] ?? 0) > maxBytes + formOverhead) throw bodyTooLarge(maxBytes)
    for await (const part of request.parts({ limits: formLimits })) {
      if (part.type !== 'file') continue
      if (part.fieldname !== 'file') throw missingPicture()
      picture = await readFile(part.file)
    }
  } catch (error) {
    throw bodyFault(request, error)
  }
  if (!picture) throw missingPicture()
  return picture
}

/** Reads a file of at most `maxBytes`. @throws ApiError (413) as soon as more arrives. */
async function readFile(file: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of file) {
    bytes += chunk.length
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const formLimits = { fileSize: Infinity, files: 1, fields: 10, fieldSize: 1024, parts: 11 }

const missingPicture = () => invalidInput('file: is required. Send the picture as a file in the form field "file".', 'file')
