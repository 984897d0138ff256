import { computed } from 'vue'
import { AddMirrorExemptionDocument, MirrorExemptionsDocument, RemoveMirrorExemptionDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useAdministrator } from '../users/users.ts'

/** A package or version that a policy refuses. */
export interface Refused {
  name: string
  version: string | null
  rule: string
}

/** Returns the exemptions from the policies of the mirror. For administrators; empty for others. */
export function useExemptions() {
  const { isAdministrator } = useAdministrator()
  const { data, ...state } = useQuery(MirrorExemptionsDocument, { isWanted: isAdministrator })
  const exemptions = computed(() => data.value?.mirrorPolicies?.exemptions ?? [])
  /** Finds the exemption that allows something. */
  const exemptionOf = ({ name, version, rule }: Refused) =>
    exemptions.value.find((one) => one.rule === rule && one.packageName === name && (one.version == null || one.version === version))
  return { ...state, isAdministrator, exemptions, exemptionOf }
}

export const useAddExemption = () => useMutation(AddMirrorExemptionDocument)
export const useRemoveExemption = () => useMutation(RemoveMirrorExemptionDocument)
