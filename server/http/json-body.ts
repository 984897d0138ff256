import { visit } from 'jsonc-parser'
import { invalidInput } from '../errors.ts'

/**
 * The value of a JSON body; none at all is undefined, whatever type was announced for it. A key that stands twice in one object is refused: which of the two counts would be anybody's guess.
 * @throws ApiError InvalidInput, naming the key.
 */
export function parseJsonBody(text: string): unknown {
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      `The body is not valid JSON: ${error instanceof Error ? error.message.replace(/ in JSON|, ".*$/g, '') : 'unreadable'}`,
    )
  }
  const repeated = repeatedKey(text)
  if (repeated !== null) throw invalidInput(`${repeated}: stands twice. Send it once.`, repeated)
  return value
}

function repeatedKey(text: string): string | null {
  const open: Set<string>[] = []
  let repeated: string | null = null
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: (key) => {
      const keys = open.at(-1)
      if (keys?.has(key)) repeated ??= key
      keys?.add(key)
    },
  })
  return repeated
}
