import { reactive, type Ref, watch } from 'vue'
import type { Failure } from '../graphql.ts'
import { useFormFailure } from './form-failure.ts'

/** Holds the input of a form in a dialog and resets it whenever the dialog opens. `labels` maps field names to the form's labels. */
export function useDialogForm<Draft extends object>(
  open: Ref<boolean>,
  failure: Ref<Failure | undefined>,
  labels: Record<string, string>,
  blank: () => Draft,
) {
  const draft = reactive(blank())
  watch(open, () => {
    Object.assign(draft, blank())
    failure.value = undefined
  })
  return { draft, ...useFormFailure(failure, labels) }
}
