import { z } from 'zod'

const record = z.object({ level: z.string(), message: z.string(), error: z.string().optional() })

/** A line of pana's log as people read it: with `--json` each is an object. */
export function logLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { data } = record.safeParse(JSON.parse(line))
    return data ? `${data.level}: ${data.message}${data.error === undefined ? '' : ` (${data.error})`}` : line
  } catch {
    return line
  }
}

/** Takes out of texts what readers of a report have no use for, or must not see: where the job ran, and its token. */
export function withoutPlaces({
  folder,
  sdk,
  token,
}: {
  folder: string
  sdk: { path: string; pubCache: string }
  token: string
}): (text: string) => string {
  // pana works on a copy with a name of its own.
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
