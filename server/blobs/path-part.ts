/**
 * Returns a value unchanged that becomes part of a path or a key. Ids and hashes come from a database, which may have been restored or edited.
 * @throws RangeError when it does not have this form, which must match the whole value and must not allow `..` between separators.
 */
export function pathPart(value: string, form: RegExp): string {
  if (!form.test(value)) throw new RangeError(`Not a name for a file: ${JSON.stringify(value.slice(0, 200))}`)
  return value
}
