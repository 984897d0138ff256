/**
 * Validates a value that becomes part of a path or object key and returns it unchanged. Ids and hashes come from a database that may have been
 * restored or edited.
 * @throws RangeError if the value does not match `form`, which must match the whole value and must not allow `..` between separators.
 */
export function pathPart(value: string, form: RegExp): string {
  if (!form.test(value)) throw new RangeError(`Not a valid file name: ${JSON.stringify(value.slice(0, 200))}`)
  return value
}
