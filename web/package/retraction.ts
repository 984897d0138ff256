import type { VersionRowFragment } from '../generated/graphql.ts'
import { useConfirmation } from '../shared/confirmation.ts'
import { useUpdateVersionOptions } from './versions.ts'

/** Asks for confirmation and then retracts or restores a version. */
export function useRetraction(name: () => string) {
  const change = useUpdateVersionOptions()
  return useConfirmation<VersionRowFragment>({
    change,
    question: (version) => questionOf(`${name()} ${version.version}`, version),
    async carryOut({ version, isRetracted }) {
      const done = await change.run({ input: { package: name(), version, isRetracted: !isRetracted } })
      return done && `${isRetracted ? 'Restored' : 'Retracted'} ${name()} ${version}.`
    },
  })
}

function questionOf(title: string, { isRetracted, retractableUntil }: VersionRowFragment) {
  if (isRetracted)
    return {
      title: `Restore ${title}?`,
      description: 'New users can get it again, and it may become the latest version.',
      action: 'Restore',
      tone: 'primary' as const,
    }
  const way = retractableUntil == null ? 'You can restore it at any time.' : 'You can restore it for 7 days.'
  return {
    title: `Retract ${title}?`,
    description: `New users no longer get it; existing users can still download it. ${way}`,
    action: 'Retract',
  }
}
