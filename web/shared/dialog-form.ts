import { reactive, type Ref, watch } from 'vue'
import type { Failure } from '../graphql.ts'
import { useFormFailure } from './form-failure.ts'

/** The input of a dialog's form, reset whenever the dialog opens. `labels` names the fields as the form does. */
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
