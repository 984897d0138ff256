import type { BulkAction } from '../bulk/bulk-run.ts'
import type { AssignableRole, UserRowFragment } from '../generated/graphql.ts'
import { roleChoices, useDeleteUser, useRevokeUserSessions, useUpdateUser } from './users.ts'

/** Returns the actions on many people. Each runs the mutation of the action on one account. */
export function useUserActions(): BulkAction<UserRowFragment>[] {
  const [update, sessions, deletion] = [useUpdateUser(), useRevokeUserSessions(), useDeleteUser()]
  const setActive = (isActive: boolean) => async (user: UserRowFragment) => {
    await update.run({ input: { userId: user.id, isActive } })
    return update.failure.value
  }
  return [
    {
      label: 'Change role…',
      icon: 'i-lucide-user-cog',
      title: (count) => `Change the role of ${count}`,
      description: 'The role limits what they can do, and what their tokens can do.',
      action: 'Change role',
      choice: { label: 'Role', items: roleChoices.map(({ value, label }) => ({ value, label })) },
      async run({ id }, role) {
        await update.run({ input: { userId: id, role: role as AssignableRole } })
        return update.failure.value
      },
      done: 'Changed the role of',
    },
    {
      label: 'Sign out everywhere',
      icon: 'i-lucide-log-out',
      title: (count) => `Sign out ${count} everywhere`,
      description: 'All sessions end immediately. Tokens keep working.',
      action: 'Sign out',
      async run({ id }) {
        await sessions.run({ userId: id })
        return sessions.failure.value
      },
      done: 'Signed out',
    },
    {
      label: 'Enable',
      icon: 'i-lucide-circle-check',
      title: (count) => `Enable ${count}`,
      description: 'They can sign in again, and their tokens work again.',
      action: 'Enable accounts',
      run: setActive(true),
      done: 'Enabled',
    },
    {
      label: 'Disable',
      icon: 'i-lucide-ban',
      tone: 'error',
      title: (count) => `Disable ${count}`,
      description: 'All sessions end and all tokens stop working immediately. You can enable the accounts again at any time.',
      action: 'Disable accounts',
      run: setActive(false),
      done: 'Disabled',
    },
    {
      label: 'Delete…',
      icon: 'i-lucide-trash-2',
      tone: 'error',
      title: (count) => `Delete ${count}`,
      description: 'All sessions and tokens are deleted. Published packages stay. This cannot be undone.',
      action: 'Delete accounts',
      phrase: (count) => `delete ${count}`,
      async run({ id }) {
        await deletion.run({ id })
        return deletion.failure.value
      },
      done: 'Deleted',
    },
  ]
}
