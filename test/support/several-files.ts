/** Why some files run with one instance only: what they look at is one process's own. */
const reasons = {
  'counts statements, of which the first request of an instance has more': [
    'audit-log',
    'pipelining',
    'public-packages',
    'queries',
    'query-cost',
  ],
  'has one instance write down what it counted': ['admin-packages', 'badges', 'downloads', 'pana', 'score'],
  'reads the metrics, the log or the readiness of one instance': ['log-format', 'metrics', 'proxy', 'readiness'],
  'holds up, measures or cuts off one instance': ['database-held', 'index-rebuild', 'slow-clients', 'upload-bodies', 'upload-connections'],
  'looks into the folder of archives, or opens stores itself': [
    'admin-cli',
    'backup',
    'damaged-archives',
    'deletion-races',
    'docs-store',
    'integrity',
    'move-blobs',
    'restore',
    'restore-hostile',
    's3',
    's3-faults',
    'scoring-runs',
    'stats',
    'store-collection',
    'store-identity',
    'upload-places',
    'upload-staging',
    'uploads',
    'verify',
  ],
}

const alone = new Set(Object.values(reasons).flat())

/** Whether two instances that take turns have to answer this file as one does. */
export const holdsInTurns = (file: string): boolean => !alone.has(nameOf(file))

/** What could show best that instances differ, of what takes little time: every run has these. */
const telling = new Set(['contract-rows', 'oauth', 'retraction', 'sessions', 'setup'])
export const isTelling = (file: string): boolean => telling.has(nameOf(file))

const nameOf = (file: string): string => file.replace(/^test\//, '').replace(/\.test\.ts$/, '')
