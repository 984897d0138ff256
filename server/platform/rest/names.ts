import { ApiError, invalidInput } from '../../errors.ts'
import type { Route } from './route.ts'

/** Replaces the field name in an InvalidInput error by its REST name, if it has one. */
export function inRestNames(error: Error, names: Route['names']): Error {
  if (!names || !(error instanceof ApiError) || error.code !== 'InvalidInput') return error
  const theirs = Object.keys(names).find((name) => names[name] === error.extensions.field)
  return theirs === undefined ? error : invalidInput(error.message.replace(/^\w+(?=[:.])/, theirs), theirs)
}
