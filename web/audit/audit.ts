import { computed } from 'vue'
import { eventTitle } from './event-labels.ts'
import { AuditEntryDocument, AuditLogDocument, type AuditRowFragment, type UserReference } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

const kinds: Record<string, string[]> = {
  user: 'created signup_refused updated deleted login login_failed password_changed password_confirmed password_reset invite_created invite_accepted'.split(
    ' ',
  ),
  token: ['created', 'rotated', 'revoked', 'reuse_detected'],
  service_account: ['created', 'updated', 'deleted'],
  trusted_publisher: ['added', 'changed', 'removed'],
  token_issuer: ['added', 'changed', 'removed'],
  session: ['revoked'],
  oauth: ['approved'],
  owner: ['transferred'],
  package:
    'created deleted version_published version_retracted version_unretracted version_deleted version_restored restored name_approved name_rejected name_freed options_updated uploader_added uploader_removed publisher_changed visibility_changed scored score_failed docs_generated'.split(
      ' ',
    ),
  publisher: 'created verified updated deleted member_added member_updated member_removed'.split(' '),
  server:
    'setup_completed public_packages_enabled public_packages_disabled legal_updated sdk_installed sdk_removed job_cancelled settings_updated mirror_policies_updated mirror_exemption_added mirror_exemption_removed audit_entries_deleted'.split(
      ' ',
    ),
}

/** Returns the kinds of events in a group, without the group: `created` for `package.created`. */
export const kindsOf = (group: string): string[] => kinds[group] ?? []

/** The choices of the event filter: every kind, and all kinds of a group. */
export const kindChoices = [
  [{ value: 'any', label: 'Any event' }],
  ...Object.entries(kinds).map(([group, names]) => [
    ...(names.length > 1 ? [{ value: `${group}.`, label: `Any ${group.replaceAll('_', ' ')} event` }] : []),
    ...names.map((name) => ({ value: `${group}.${name}`, label: eventTitle(`${group}.${name}`) })),
  ]),
]

const isDay = (day: string) => /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day))

/** Returns the start of a day, or of the following day, in the browser's time zone. Returns null if the date is invalid. */
function startOf(day: string, { next = false } = {}): string | null {
  if (!isDay(day)) return null
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date + Number(next)).toISOString()
}

/** Returns the reference to a user by e-mail address or plain identifier. */
const referenceTo = (text: string | null): UserReference | null =>
  text === null ? null : text.includes('@') ? { email: text } : { uuid: text }

/** Returns the audit log filtered by the URL parameters. `from` and `to` are dates; `to` is inclusive. */
export function useAuditLog() {
  const text = (name: string) => useQueryParam<string>(name, '', { resets: ['after'], replace: true })
  const kind = useQueryParam<string>('kind', 'any', { resets: ['after'] })
  const actor = text('actor')
  const user = text('user')
  const pkg = text('package')
  const publisher = text('publisher')
  const from = text('from')
  const to = text('to')
  const server = useQueryParam<string>('server', '', { resets: ['after'], replace: true })
  const withServer = computed({ get: () => server.value !== '', set: (isShown) => (server.value = isShown ? '1' : '') })
  const filters = computed(() => ({
    kind: kind.value === 'any' ? null : kind.value,
    actor: actor.value.trim() || null,
    user: user.value.trim() || null,
    package: pkg.value.trim() || null,
    publisher: publisher.value.trim() || null,
    from: startOf(from.value),
    to: startOf(to.value, { next: true }),
  }))
  /** Whether entries of the server itself are hidden. */
  const peopleOnly = computed(() => !withServer.value)
  const { list } = useCursorList({
    document: AuditLogDocument,
    variables: (after) => {
      const people = { actor: referenceTo(filters.value.actor), user: referenceTo(filters.value.user) }
      return { ...filters.value, ...people, peopleOnly: peopleOnly.value, after }
    },
    connection: (data) => data.auditEntries,
  })
  const isFiltered = computed(() => Object.values(filters.value).some((value) => value !== null))
  return { list, kind, actor, user, pkg, publisher, from, to, withServer, filters, isFiltered }
}

/** Returns all fields of an audit entry. */
export function useAuditEntry(id: string) {
  const { data, ...query } = useQuery(AuditEntryDocument, { variables: { id } })
  const entry = computed(() => (data.value?.node && 'kind' in data.value.node ? data.value.node : undefined))
  return { ...query, entry }
}

/** Returns the name of the affected account, or undefined if the entry does not concern an account. */
export const personOf = ({ userId, user }: AuditRowFragment) => (userId == null ? undefined : (user?.displayName ?? 'deleted user'))
