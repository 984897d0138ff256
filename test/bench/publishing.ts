import { archiveOf, type Registry } from './registry.ts'
import { median } from './rounds.ts'

/** Publishes versions 1.0.<first> up to, but not including, 1.0.<end>; gives how long each took over HTTP, in milliseconds. */
export async function publishVersions({ client }: Registry, name: string, first: number, end: number, bytes?: number): Promise<number[]> {
  const times: number[] = []
  for (let patch = first; patch < end; patch++) {
    const archive = await archiveOf(name, `1.0.${patch}`, bytes)
    const started = performance.now()
    await client.publish(archive)
    times.push(performance.now() - started)
  }
  return times
}

/**
 * How long the last fifty of `versions` take to publish, and how long the first fifty of another package: one of these, one of those,
 * by turns, so that both have the same machine and the same database. Medians, in milliseconds.
 */
export async function compareLateWithEarly(registry: Registry, versions: number): Promise<{ late: number; early: number }> {
  const [late, early]: [number[], number[]] = [[], []]
  const already = versions - 50
  await publishVersions(registry, 'long_lived', 0, already)
  for (let patch = 0; patch < 50; patch++) {
    late.push(...(await publishVersions(registry, 'long_lived', already + patch, already + patch + 1)))
    early.push(...(await publishVersions(registry, 'newcomer', patch, patch + 1)))
  }
  return { late: median(late), early: median(early) }
}
