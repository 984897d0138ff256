interface KindText {
  label: string
  /** What a group of jobs does: "analyze", "Analyzing" or "Analyzed", and what it does it with: "12 versions". */
  verbs: [infinitive: string, present: string, past: string]
  one: string
  many: string
}

/** The kinds of jobs of the server. */
const kinds = {
  analysis: { label: 'Analyze a version', verbs: ['analyze', 'Analyzing', 'Analyzed'], one: 'version', many: 'versions' },
  'analysis.pana': {
    label: 'Analyze with pana',
    verbs: ['analyze', 'Analyzing', 'Analyzed'],
    one: 'version with pana',
    many: 'versions with pana',
  },
  'archives.remove': {
    label: 'Remove archives',
    verbs: ['clean up after', 'Cleaning up after', 'Cleaned up after'],
    one: 'deletion',
    many: 'deletions',
  },
  backup: { label: 'Back up', verbs: ['make', 'Making', 'Made'], one: 'backup', many: 'backups' },
  'integrity.check': {
    label: 'Check archives',
    verbs: ['complete', 'Running', 'Completed'],
    one: 'check of the archives',
    many: 'checks of the archives',
  },
  'publisher.domain-check': {
    label: 'Look up a domain',
    verbs: ['look up', 'Looking up', 'Looked up'],
    one: 'domain',
    many: 'domains',
  },
  'sdk.install': { label: 'Install an SDK', verbs: ['install', 'Installing', 'Installed'], one: 'SDK', many: 'SDKs' },
  'sdk.remove': { label: 'Remove an SDK', verbs: ['remove', 'Removing', 'Removed'], one: 'SDK', many: 'SDKs' },
} as const satisfies Record<string, KindText>

export type JobKind = keyof typeof kinds

/** Texts of the kinds of jobs. A server of another release may have more kinds, which are shown by their identifiers. */
export const jobKinds: Readonly<Record<string, KindText>> = kinds

export const isOfKind = (job: { kind: string }, kind: JobKind): boolean => job.kind === kind
