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
      const of = name()
      const send = (retracted: boolean) => change.run({ input: { package: of, version, isRetracted: retracted } })
      if (!(await send(!isRetracted))) return undefined
      // A version that was restored can be retracted again only within a period.
      return isRetracted ? `Restored ${of} ${version}.` : { text: `Retracted ${of} ${version}.`, undo: () => send(false) }
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
