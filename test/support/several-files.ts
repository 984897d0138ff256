/** Why some files run with one instance only: what they look at is one process's own. */
const reasons = {
  'counts statements, of which the first request of an instance has more': [
    'audit/log',
    'http/pipelining',
    'visibility/public-packages',
    'graphql/queries',
    'graphql/query-cost',
  ],
  'has one instance write down what it counted': [
    'packages/administration',
    'badges/badges',
    'downloads/downloads',
    'pana/pana',
    'scoring/score',
  ],
  'reads the metrics, the log, the traces or the readiness of one instance': [
    'http/log-format',
    'metrics/metrics',
    'http/proxy',
    'health/readiness',
    'tracing/tracing',
  ],
  'holds up, measures or cuts off one instance': [
    'db/held',
    'search/index-rebuild',
    'http/slow-clients',
    'uploads/bodies',
    'uploads/connections',
  ],
  'looks into the folder of archives, or opens stores itself': [
    'admin/cli',
    'backup/backup',
    'integrity/damaged-archives',
    'packages/deletion-races',
    'docs/store',
    'http/proxy-archives',
    'integrity/integrity',
    'store/move-blobs',
    'backup/restore',
    'backup/restore-hostile',
    'blobs/s3',
    'blobs/s3-faults',
    'scoring/runs',
    'stats/stats',
    'store/collection',
    'store/identity',
    'uploads/places',
    'uploads/staging',
    'uploads/uploads',
    'backup/bucket',
    'backup/bucket-refusals',
    'backup/verify',
    'doctor/buckets',
  ],
}

const alone = new Set(Object.values(reasons).flat())

/** Whether two instances that take turns have to answer this file as one does. */
export const holdsInTurns = (file: string): boolean => !alone.has(nameOf(file))

/** What could show best that instances differ, of what takes little time: every run has these. */
const telling = new Set(['contract/rows', 'oauth/oauth', 'packages/retraction', 'sessions/sessions', 'setup/setup'])
export const isTelling = (file: string): boolean => telling.has(nameOf(file))

const nameOf = (file: string): string => file.replace(/^test\//, '').replace(/\.test\.ts$/, '')

/** Every file that is named here. */
export const namedFiles: string[] = [...alone, ...telling]
