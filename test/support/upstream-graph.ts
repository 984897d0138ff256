import type { Upstream } from './upstream.ts'

const day = 86_400_000

/**
 * Publishes `count` packages with five versions each: an old major version, three of the current one of which one is retracted, and a pre-release.
 * Every package depends on up to three packages with lower numbers. Returns dependencies that need all packages.
 */
export function publishGraph(upstream: Upstream, count: number, newest = new Date('2025-06-01T00:00:00Z')): Record<string, string> {
  for (let index = 0; index < count; index++) {
    const dependencies = dependenciesOf(index)
    for (const [age, version] of ['0.9.1', '1.0.0', '1.2.0', '1.2.1', '1.3.0-dev.1'].entries())
      upstream.publish(graphName(index), version, { dependencies, published: new Date(newest.getTime() - (400 - age * 90) * day) })
    if (index % 3 === 0) upstream.retract(graphName(index), '1.2.1')
    if (index % 50 === 7) upstream.discontinue(graphName(index), graphName(0))
    if (index % 40 === 1) upstream.advise(graphName(index), { id: `GHSA-0000-0000-${index}`, affected: ['0.9.1', '1.0.0'], fixed: '1.2.0' })
  }
  // Each package is needed by one with a higher number, except the last few.
  const needed = new Set(Array.from({ length: count }, (_, index) => Object.keys(dependenciesOf(index))).flat())
  const roots = Array.from({ length: count }, (_, index) => graphName(index)).filter((name) => !needed.has(name))
  return Object.fromEntries(roots.map((name) => [name, '^1.0.0']))
}

/** Version that a client chooses of a package of the graph. */
export const graphVersion = (index: number): string => (index % 3 === 0 ? '1.2.0' : '1.2.1')

export const graphName = (index: number): string => `graph_${String(index).padStart(3, '0')}`

function dependenciesOf(index: number): Record<string, string> {
  const others = [index - 1, Math.floor(index / 2), Math.floor(index / 3)].filter(
    (other) => other >= 0 && other < index && other % 2 !== index % 2,
  )
  return Object.fromEntries([...new Set(others)].toSorted((a, b) => a - b).map((other) => [graphName(other), '^1.0.0']))
}
