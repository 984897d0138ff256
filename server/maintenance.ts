import { resealSecrets } from './operations/checks/sealed.ts'
import { sealEntries } from './accounts/audit/chain.ts'
import { deleteOldEntries } from './accounts/audit/retention.ts'
import { scheduleBackups } from './operations/backup/schedule/job.ts'
import { collectDocs } from './analysis/docs/store.ts'
import { collectImages } from './registry/images/service.ts'
import { collectMirror } from './registry/mirror/catalog/cached.ts'
import { rollDownloads } from './registry/downloads/service.ts'
import { saveDownloads } from './registry/downloads/tally.ts'
import { deleteOldDecisions, saveDecisions } from './registry/mirror/decisions.ts'
import { recheckFaults } from './registry/packages/listing/faults.ts'
import { collectJobs } from './platform/jobs/queue.ts'
import { logMove, runPeriodically } from './platform/jobs/run-periodically.ts'
import { sampleDay } from './operations/stats/samples.ts'
import { enqueueDomainChecks } from './registry/publishers/domain-check.ts'
import { recountDependents } from './registry/search/rebuild.ts'
import { collectSdks } from './analysis/sdks/installing/install.ts'
import { collectChallenges } from './accounts/factors/challenges.ts'
import { collectSessions } from './accounts/sessions/service.ts'
import { collectAttempts } from './accounts/providers/attempts.ts'
import { collectAuthorizations } from './accounts/oauth/service.ts'
import { purgeDeleted } from './registry/restoration/service.ts'
import { collectGarbage } from './registry/uploads/service.ts'
import type { Services } from './services.ts'

const collectEveryMs = 10 * 60_000
const sealEveryMs = 60_000
const scheduleEveryMs = 30_000
/** Interval for writing counts of downloads and decisions. At most this period of counts is lost when the process is killed. */
const countEveryMs = 5000

type Task = { name: string; everyMs: number; run: (services: Services) => Promise<unknown> }

/** Periodic tasks, with the name that the log shows. */
const tasks: readonly Task[] = [
  { name: 'collecting leftover uploads and files', everyMs: collectEveryMs, run: collectGarbage },
  { name: 'collecting documentation', everyMs: collectEveryMs, run: collectDocs },
  { name: 'collecting images', everyMs: collectEveryMs, run: collectImages },
  { name: 'collecting files of the mirror', everyMs: collectEveryMs, run: collectMirror },
  { name: 'reading damaged archives again', everyMs: collectEveryMs, run: recheckFaults },
  { name: 'counting downloads', everyMs: countEveryMs, run: saveDownloads },
  { name: 'recording decisions of the mirror', everyMs: countEveryMs, run: saveDecisions },
  { name: 'deleting old decisions of the mirror', everyMs: collectEveryMs, run: deleteOldDecisions },
  { name: 'removing old downloads from totals', everyMs: collectEveryMs, run: rollDownloads },
  { name: 'counting dependents', everyMs: collectEveryMs, run: recountDependents },
  { name: 'sealing the audit log', everyMs: sealEveryMs, run: sealEntries },
  { name: 'deleting old audit entries', everyMs: collectEveryMs, run: deleteOldEntries },
  { name: 'deleting what can no longer be restored', everyMs: collectEveryMs, run: purgeDeleted },
  { name: 'storing daily statistics', everyMs: collectEveryMs, run: sampleDay },
  { name: 'scheduling backups', everyMs: scheduleEveryMs, run: scheduleBackups },
  { name: 'collecting sessions', everyMs: collectEveryMs, run: collectSessions },
  { name: 'encrypting secrets again', everyMs: collectEveryMs, run: resealSecrets },
  { name: 'collecting challenges of passkeys', everyMs: collectEveryMs, run: collectChallenges },
  { name: 'collecting sign-in attempts', everyMs: collectEveryMs, run: collectAttempts },
  { name: 'collecting authorizations', everyMs: collectEveryMs, run: collectAuthorizations },
  { name: 'collecting rate limits', everyMs: collectEveryMs, run: ({ limits }) => limits.collect() },
  { name: 'looking up verified domains', everyMs: collectEveryMs, run: enqueueDomainChecks },
  { name: 'cleaning up SDKs', everyMs: collectEveryMs, run: collectSdks },
  { name: 'collecting old jobs', everyMs: collectEveryMs, run: ({ database, now }) => collectJobs(database.fork(), now()) },
]

/** Starts the periodic tasks. Returns functions that stop them. */
export const startMaintenance = (services: Services): (() => void)[] => [
  logMove(services),
  ...tasks.map(({ name, everyMs, run }) => runPeriodically(name, everyMs, services, () => run(services))),
]
