import { computed } from 'vue'
import { useAdministrator } from '../users/users.ts'

interface AdminPage {
  label: string
  to: { name: string }
  icon: string
  /** Short description of the page. */
  text: string
  /** Path prefix of further pages that belong to this entry. */
  above?: string
  ownerOnly?: boolean
}

interface AdminGroup {
  title: string
  pages: AdminPage[]
}

// Used by the navigation of the administration and the command palette.
const groups: AdminGroup[] = [
  {
    title: 'Accounts',
    pages: [
      {
        label: 'People',
        to: { name: 'admin-users' },
        icon: 'i-lucide-users',
        text: 'Accounts, roles, invitations and passwords.',
        above: '/admin/users/',
      },
      {
        label: 'Publishers',
        to: { name: 'admin-publishers' },
        icon: 'i-lucide-building-2',
        text: 'Teams and companies that own packages.',
      },
      {
        label: 'Sign-in',
        to: { name: 'admin-sign-in' },
        icon: 'i-lucide-log-in',
        text: 'Providers for company sign-in, and second factors.',
      },
      {
        label: 'Service accounts',
        to: { name: 'admin-service-accounts' },
        icon: 'i-lucide-bot',
        text: 'Accounts for programs, with tokens and without a password.',
      },
      {
        label: 'CI systems',
        to: { name: 'admin-token-issuers' },
        icon: 'i-lucide-workflow',
        text: 'Whose jobs can publish and read without a stored secret.',
      },
    ],
  },
  {
    title: 'Packages',
    pages: [
      { label: 'Packages', to: { name: 'admin-packages' }, icon: 'i-lucide-package', text: 'Package sizes, owners and deletion.' },
      {
        label: 'Deleted packages',
        to: { name: 'admin-deleted' },
        icon: 'i-lucide-archive-restore',
        text: 'Restore what was deleted in the last 7 days.',
      },
      {
        label: 'Public packages',
        to: { name: 'admin-public-packages' },
        icon: 'i-lucide-globe',
        text: 'Packages that can be read without signing in.',
      },
      {
        label: 'Names',
        to: { name: 'admin-names' },
        icon: 'i-lucide-spell-check',
        text: 'Names of deleted packages, and names that could be confused.',
      },
      {
        label: 'Advisories',
        to: { name: 'admin-advisories' },
        icon: 'i-lucide-shield-alert',
        text: 'Known security problems of packages.',
      },
      {
        label: 'Mirror',
        to: { name: 'mirror' },
        icon: 'i-lucide-database-zap',
        text: 'Packages of another server: cache, policies and decisions.',
      },
    ],
  },
  {
    title: 'Analysis',
    pages: [
      {
        label: 'Scoring',
        to: { name: 'admin-scoring' },
        icon: 'i-lucide-award',
        text: 'Analysis settings, coverage and log.',
      },
      { label: 'SDKs', to: { name: 'admin-sdks' }, icon: 'i-lucide-box', text: 'Dart and Flutter, for pana and dart doc.' },
    ],
  },
  {
    title: 'Server',
    pages: [
      { label: 'Jobs', to: { name: 'admin-jobs' }, icon: 'i-lucide-list-checks', text: 'Background work: queued, running and failed.' },
      {
        label: 'Self-check',
        to: { name: 'admin-self-check' },
        icon: 'i-lucide-stethoscope',
        text: 'Health, archives, backups, database and settings.',
      },
      { label: 'Audit log', to: { name: 'admin-audit' }, icon: 'i-lucide-scroll-text', text: 'Who changed what, when and from where.' },
      { label: 'Registry', to: { name: 'admin-registry' }, icon: 'i-lucide-store', text: 'Name, description and logo.' },
      {
        label: 'Legal pages',
        to: { name: 'admin-legal' },
        icon: 'i-lucide-scale',
        text: 'The privacy policy and the terms of use.',
        above: '/admin/settings/legal/',
      },
      {
        label: 'Ownership',
        to: { name: 'admin-ownership' },
        icon: 'i-lucide-crown',
        text: 'Transfer this server to another administrator.',
        ownerOnly: true,
      },
    ],
  },
]

/** Returns the administration pages that the viewer may open, in groups, without the overview. */
export function useAdminPages() {
  const { isOwner } = useAdministrator()
  const isShown = ({ ownerOnly }: AdminPage) => isOwner.value || !ownerOnly
  return computed(() => groups.map(({ title, pages }) => ({ title, pages: pages.filter(isShown) })))
}
