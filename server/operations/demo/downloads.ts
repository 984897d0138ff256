import { recordDownloads, saveDownloads } from '../../registry/downloads/tally.ts'
import { dayOf, rollDownloads } from '../../registry/downloads/service.ts'
import type { Services } from '../../services.ts'
import { createRandom } from './random.ts'
import type { Release } from './releases.ts'

/** Number of earlier versions that are still downloaded after a new one was published. */
const versionsInUse = 3

/** Adds downloads for each day of the year before `end`: more for popular packages and newer versions, fewer at weekends, with slow growth. */
export async function addDownloads(
  services: Pick<Services, 'database' | 'state' | 'now'>,
  releases: readonly Release[],
  end: Date,
): Promise<void> {
  const random = createRandom(11)
  const last = dayOf(end)
  for (const [name, all] of Map.groupBy(releases, ({ pkg }) => pkg.name)) {
    const weight = all[0]?.pkg.weight ?? 1
    for (let day = dayOf(all[0]?.at ?? end); day <= last; day++) {
      const isWeekend = [0, 6].includes(new Date(day * 86_400_000).getUTCDay())
      const growth = 0.5 + 0.5 * (1 - (last - day) / 365)
      const total = weight * growth * (isWeekend ? 0.15 : 1) * (0.7 + 0.6 * random.next())
      const known = all.filter(({ at }) => dayOf(at) <= day).slice(-versionsInUse)
      for (const [age, { version }] of known.toReversed().entries()) {
        const downloads = Math.round(total / 2.2 ** age)
        if (downloads > 0) recordDownloads(services, { name, version, day, downloads })
      }
    }
    await saveDownloads(services)
  }
  await rollDownloads(services)
}
