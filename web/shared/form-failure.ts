import { computed, nextTick, type Ref, watch } from 'vue'
import type { Failure } from '../graphql.ts'

/**
 * Assigns the failure of a mutation to the fields of its form. An invalid field shows its error message and receives the focus.
 * `labels` maps field names to the form's labels.
 */
export function useFormFailure(failure: Ref<Failure | undefined>, labels: Record<string, string>) {
  const fieldFailure = computed(() => (Object.hasOwn(labels, failure.value?.field ?? '') ? failure.value : undefined))

  watch(fieldFailure, async (current) => {
    await nextTick()
    if (current) document.querySelector<HTMLElement>(`[name="${current.field}"]`)?.focus()
  })
  return {
    errorOf: (field: string) =>
      fieldFailure.value?.field === field ? sentence(fieldFailure.value.message, field, labels[field] ?? field) : undefined,
    /** The failure, unless it concerns a field of the form. */
    general: computed(() => (fieldFailure.value ? undefined : failure.value)),
  }
}

/** "password: must not be empty" → "Password must not be empty". */
const sentence = (message: string, field: string, label: string) =>
  message.startsWith(`${field}: `) ? `${label} ${message.slice(field.length + 2)}` : message
