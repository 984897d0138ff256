/**
 * Why some files run with one instance only: what nearly all of their tests look at is one process's own. Where only a few tests of a file do, they
 * say so themselves, by `testApp({ alone: true })`.
 */
const reasons = {
  'counts statements, of which the first request of an instance has more': ['graphql/queries'],
  'reads the log or the traces of one instance': ['http/log-format', 'http/proxy', 'http/request-lines', 'tracing/tracing'],
  'holds up, measures or cuts off one instance': [
    'db/held',
    'search/index-rebuild',
    'http/slow-clients',
    'http/unread-bodies',
    'http/discard-bounds',
    'uploads/bodies',
    'uploads/connections',
  ],
  'looks into the folder of archives, or opens stores itself': [
    'backup/bucket',
    'backup/bucket-refusals',
    'backup/restore',
    'backup/restore-hostile',
    'backup/verify',
    'blobs/s3',
    'blobs/s3-faults',
    'doctor/buckets',
    'http/proxy-archives',
    'integrity/damaged-archives',
    'integrity/integrity',
    'store/collection',
    'store/identity',
    'store/move-blobs',
  ],
}

const alone = new Set(Object.values(reasons).flat())

/** Whether two instances that take turns have to answer this file as one does. */
export const runsOnTwoInstances = (file: string): boolean => !alone.has(nameOf(file))

/** What could show best that instances differ, of what takes little time: every run has these. */
const alwaysRun = new Set(['contract/rows', 'oauth/oauth', 'packages/retraction', 'sessions/sessions', 'setup/setup'])
export const isInEveryRun = (file: string): boolean => alwaysRun.has(nameOf(file))

const nameOf = (file: string): string => file.replace(/^test\//, '').replace(/\.test\.ts$/, '')

/** Every file that is named here. */
export const namedFiles: string[] = [...alone, ...alwaysRun]
