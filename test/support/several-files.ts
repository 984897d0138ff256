/**
 * Test files that only run with one instance, by reason. Files of which only a few tests need a single instance use `testApp({ alone: true })`
 * instead.
 */
const reasons = {
  'counts statements, of which the first request of an instance has more': ['graphql/queries'],
  'reads the log or the traces of one instance': ['http/log-format', 'http/proxy', 'http/request-lines', 'tracing/tracing'],
  'holds up, measures or cuts off one instance': [
    'db/locked-database',
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
    'checks/buckets',
    'http/proxy-archives',
    'integrity/damaged-archives',
    'integrity/integrity',
    'store/collection',
    'store/identity',
    'store/move-blobs',
  ],
}

const alone = new Set(Object.values(reasons).flat())

/** Reports whether a test file also runs with two instances that receive requests in turn. */
export const runsOnTwoInstances = (file: string): boolean => !alone.has(nameOf(file))

/** Fast test files that are most likely to detect differences between instances. Every run includes them. */
const alwaysRun = new Set(['contract/endpoint-rows', 'oauth/oauth', 'packages/retraction', 'sessions/sessions', 'setup/setup'])
export const isInEveryRun = (file: string): boolean => alwaysRun.has(nameOf(file))

const nameOf = (file: string): string => file.replace(/^test\//, '').replace(/\.test\.ts$/, '')

/** All files in these lists. */
export const namedFiles: string[] = [...alone, ...alwaysRun]
