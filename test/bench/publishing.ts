import { archiveOf, type Registry } from './registry.ts'
import { median } from './rounds.ts'

/** Publishes versions 1.0.<first> up to, but not including, 1.0.<end>. Returns the time of each in milliseconds. */
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
 * Compares the last fifty of `versions` versions of a package with the first fifty of another package. Publishes them alternately, so that both run
 * under the same conditions. Returns medians in milliseconds.
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
