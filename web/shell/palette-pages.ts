import type { CommandPaletteItem } from '@nuxt/ui'
import { computed } from 'vue'
import { signOut, useSession } from '../sign-in/session.ts'
import { useAdministrator } from '../users/users.ts'
import { useAdminPages } from './admin-pages.ts'

const open: CommandPaletteItem[] = [
  { label: 'Home', icon: 'i-lucide-layout-dashboard', to: '/' },
  { label: 'Packages', icon: 'i-lucide-package', to: '/packages' },
  { label: 'Can I upgrade?', icon: 'i-lucide-circle-arrow-up', to: '/upgrade' },
]
const mirror: CommandPaletteItem[] = [{ label: 'Mirror', icon: 'i-lucide-database-zap', to: '/mirror' }]
const help: CommandPaletteItem[] = [
  { label: 'Help', icon: 'i-lucide-circle-help', to: '/help' },
  { label: 'GraphQL explorer', icon: 'i-lucide-braces', to: '/graphql' },
  { label: 'REST API', icon: 'i-lucide-webhook', to: '/api/docs' },
]
const own: CommandPaletteItem[] = [
  { label: 'Publishers', icon: 'i-lucide-users-round', to: '/publishers' },
  { label: 'My packages', icon: 'i-lucide-package', to: '/me/packages' },
  { label: 'My publishers', icon: 'i-lucide-building-2', to: '/me/publishers' },
  { label: 'Liked packages', icon: 'i-lucide-heart', to: '/me/liked' },
  { label: 'Watching', icon: 'i-lucide-bell', to: '/me/watching' },
  { label: 'My activity', icon: 'i-lucide-history', to: '/me/activity' },
  { label: 'Profile', icon: 'i-lucide-user-round', to: '/settings/profile' },
  { label: 'Security', icon: 'i-lucide-shield-check', to: '/settings/security' },
  { label: 'Sessions', icon: 'i-lucide-monitor-smartphone', to: '/settings/sessions' },
  { label: 'Access tokens', icon: 'i-lucide-key-round', to: '/settings/tokens' },
]

/** Returns the pages that the viewer can open, for the command palette. */
export function usePalettePages() {
  const { viewer, server } = useSession()
  const { isAdministrator } = useAdministrator()
  const adminPages = useAdminPages()
  return computed<CommandPaletteItem[]>(() => {
    const groups = isAdministrator.value ? adminPages.value : []
    const administration = groups.flatMap(({ pages }) =>
      pages
        .filter(({ to }) => to.name !== 'mirror')
        .map(({ label, icon, to, text }) => ({ label, icon, to, description: text, suffix: 'Administration' })),
    )
    const overview = { label: 'Administration', icon: 'i-lucide-gauge', to: '/admin' }
    const mirrored = server.value?.mirrorHost != null || isAdministrator.value ? mirror : []
    return [...open, ...mirrored, ...(viewer.value ? own : []), ...help, ...(isAdministrator.value ? [overview] : []), ...administration]
  })
}

/** Returns the actions that the viewer can start, for the command palette. */
export function usePaletteActions(setTheme: (theme: 'light' | 'dark' | 'auto') => void) {
  const { viewer } = useSession()
  const { isAdministrator } = useAdministrator()
  const themes = [
    { value: 'light', label: 'Use the light theme', icon: 'i-lucide-sun' },
    { value: 'dark', label: 'Use the dark theme', icon: 'i-lucide-moon' },
    { value: 'auto', label: 'Use the theme of the system', icon: 'i-lucide-monitor' },
  ] as const
  return computed<CommandPaletteItem[]>(() => [
    ...(viewer.value ? [{ label: 'Create an access token', icon: 'i-lucide-key-round', to: '/settings/tokens?new=1' }] : []),
    ...(isAdministrator.value ? [{ label: 'Invite or create a person', icon: 'i-lucide-user-plus', to: '/admin/users?new=1' }] : []),
    ...themes.map(({ value, label, icon }) => ({ label, icon, onSelect: () => setTheme(value) })),
    ...(viewer.value ? [{ label: 'Sign out', icon: 'i-lucide-log-out', onSelect: () => void signOut() }] : []),
  ])
}
