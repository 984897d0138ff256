import { computed, nextTick, type Ref, watch } from 'vue'
import type { Failure } from '../graphql.ts'

/**
 * Spreads a failed change over its form: an error of one field is shown at that field, which gets the focus.
 * `labels` names the fields as the form does.
 */
export function useFormFailure(failure: Ref<Failure | undefined>, labels: Record<string, string>) {
  const blamed = computed(() => (Object.hasOwn(labels, failure.value?.field ?? '') ? failure.value : undefined))

  watch(blamed, async (current) => {
    await nextTick()
    if (current) document.querySelector<HTMLElement>(`[name="${current.field}"]`)?.focus()
  })
  return {
    errorOf: (field: string) => (blamed.value?.field === field ? sentence(blamed.value.message, field, labels[field] ?? field) : undefined),
    /** A failure that belongs to no field of the form. */
    general: computed(() => (blamed.value ? undefined : failure.value)),
  }
}

/** "password: must not be empty" → "Password must not be empty". */
const sentence = (message: string, field: string, label: string) =>
  message.startsWith(`${field}: `) ? `${label} ${message.slice(field.length + 2)}` : message
