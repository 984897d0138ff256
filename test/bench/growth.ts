import type { FastifyInstance } from 'fastify'
import { createApp } from '../../server/app.ts'
import type { Services } from '../../server/services.ts'
import { Actor } from '../actor.ts'
import { makeToken, makeUser } from '../factories.ts'
import { publishArchive } from '../support/publish.ts'
import { archiveOf } from './registry.ts'
import { median } from './rounds.ts'

/** Server with this number of packages. */
export type Stocked = { services: Services; packages: number }

export type Growth = { what: string; few: number; many: number }

/** Measures publishing and listing on a server with few packages and one with many, alternating between them. Returns medians in milliseconds. */
export async function compareGrowth(few: Stocked, many: Stocked, rounds = 40): Promise<Growth[]> {
  const sides = [await side(few), await side(many)] as const
  const times = new Map<string, [number[], number[]]>()
  async function timed(what: string, which: 0 | 1, work: () => Promise<unknown>) {
    const started = performance.now()
    await work()
    const lists = times.get(what) ?? [[], []]
    times.set(what, lists)
    lists[which].push(performance.now() - started)
  }
  for (let round = 0; round < rounds; round++) {
    for (const [which, { actor }] of sides.entries() as Iterable<[0 | 1, (typeof sides)[number]]>) {
      const [fresh, grown] = [await archiveOf(`growth_${round}`, '1.0.0'), await archiveOf('growing', `1.0.${round}`)]
      await timed('publish a new package', which, () => publishTo(actor, fresh))
      await timed('publish another version', which, () => publishTo(actor, grown))
      await timed('listing, not cached', which, () => list(actor, 'growing'))
      for (let again = 0; again < 5; again++) await timed('listing, cached', which, () => list(actor, `growth_${round}`))
    }
  }
  for (const { app } of sides) await app.close()
  return Array.from(times, ([what, [first, second]]) => ({ what, few: median(first), many: median(second) }))
}

async function side({ services }: Stocked): Promise<{ app: FastifyInstance; actor: Actor }> {
  const app = await createApp(services)
  const owner = await makeUser(services, 'owner')
  return { app, actor: new Actor(app, { secret: await makeToken(services, owner.id) }) }
}

async function publishTo(actor: Actor, archive: Buffer): Promise<void> {
  const { status, body } = await publishArchive(actor, archive)
  if (status !== 200) throw new Error(`Cannot publish: ${JSON.stringify(body)}`)
}

async function list(actor: Actor, name: string): Promise<void> {
  const { status } = await actor.get(`/api/packages/${name}`)
  if (status !== 200) throw new Error(`Cannot list ${name}: ${status}`)
}
