import { z } from 'zod'

const record = z.object({ level: z.string(), message: z.string(), error: z.string().optional() })

/** Converts a line of pana's log to text. With `--json`, each line is an object. */
export function logLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { data } = record.safeParse(JSON.parse(line))
    return data ? `${data.level}: ${data.message}${data.error === undefined ? '' : ` (${data.error})`}` : line
  } catch {
    return line
  }
}

/** Returns a function that removes the job's paths and token from texts, because readers of a report do not need or must not see them. */
export function redactPaths({
  folder,
  sdk,
  token,
}: {
  folder: string
  sdk: { path: string; pubCache: string }
  token: string
}): (text: string) => string {
  // pana works on a copy of the package in a folder with a random name.
  const copies = `${folder}/.tmp/`
  return (text) =>
    text
      .replaceAll(token, '[token]')
      .split(copies)
      .map((part, index) => (index === 0 ? part : part.replace(/^[\w.-]+\/?/, '')))
      .join('')
      .replaceAll(`${folder}/package/`, '')
      .replaceAll(folder, '[job]')
      .replaceAll(sdk.path, '[sdk]')
      .replaceAll(sdk.pubCache, '[pub-cache]')
}
