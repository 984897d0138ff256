import { z } from 'zod'
import { invalidInput } from '../errors.ts'

/** A place in a sorted list: the sorted column's value, and the document's number, which settles ties. */
export type Place = [key: string | number, document: number]

/** A position as an opaque text: a place in a sorted list, or how many ranked matches came before. */
export const writeCursor = (position: Place | number): string => Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws ApiError InvalidInput when the text is not a cursor of a list sorted by numbers, by scores or by names. */
export const readPlace = (cursor: string, by: keyof typeof keys): Place => read(cursor, z.tuple([keys[by], number]))

/** @throws ApiError InvalidInput when the text is not a cursor of ranked matches. */
export const readRank = (cursor: string): number => read(cursor, z.int32().nonnegative())

const number = z.int()
/** PostgreSQL keeps scores as small numbers, and compares them with no others. */
const keys = { number, score: z.int().min(-1).max(100), name: z.stringFormat('name', /^\w{1,64}$/) }

function read<T>(cursor: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch {
    throw invalidInput('after: is not a cursor of this list.', 'after')
  }
}
