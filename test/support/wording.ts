/** Words of this project that other projects have a common term for, with that term. Identifiers are read as the words they consist of. */
const replacements: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(whoever|anybody|somebody|nobody)\b/i, 'anyone, users, callers, clients, administrators; or name the role'],
  [/\bbeside\b/i, 'next to, in addition to, alongside, concurrently with'],
  [/\b(anew|afresh)\b/i, 'again'],
  [/\bmeanwhile\b/i, 'in the meantime, concurrently; or nothing'],
  [/\b(is|are|was|were|be|being) told\b|\btells?\b|\bsays\b/i, 'is reported, logs, returns, shows'],
  [/(?<!\bthere )\b(is|are) no (?!longer\b|more\b)|\b(is|are) none\b/i, 'is not a, does not exist'],
  [/\b(rooms?|houses?|doors?)\b|(?<!Math\.)\bfloors?\b/i, 'space, folders, modules, layers, API'],
  [/\bthat weighs?\b|\btakes? (its|their) time\b/i, 'expensive, background'],
  [/\bfor good\b/i, 'permanently'],
  [/\bgoes with\b/i, 'is deleted along with'],
  [/\b(in the way|on the way of)\b/i, 'on the path of'],
  [/\b(has|have|had) to\b/i, 'must'],
  [/\blets\b/i, 'allows'],
  [/\bmakes? do with\b/i, 'falls back to'],
  [/\bwithin the hour\b/i, 'expires within an hour'],
  [/\b(the one that|those that)\b/i, 'name the thing'],
]

export type Finding = { line: number; word: string; instead: string }

/** Finds the words in a text that need replacing. Lines count from 1. */
export const findWording = (text: string): Finding[] =>
  text.split('\n').flatMap((line, index) => {
    const words = line.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    return replacements.flatMap(([pattern, instead]) => {
      const word = pattern.exec(words)?.[0]
      return word ? [{ line: index + 1, word, instead }] : []
    })
  })
