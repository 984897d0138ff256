import { computed, nextTick, type Ref, watch } from 'vue'
import type { Failure } from '../graphql.ts'

/** Spreads a failed change over its form: what one field is to blame for stands at that field, which gets the focus. */
export function useFormFailure(failure: Ref<Failure | undefined>, fields: readonly string[]) {
  const blamed = computed(() => fields.find((field) => field === failure.value?.field))

  watch(blamed, async (field) => {
    await nextTick()
    if (field) document.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()
  })
  return {
    errorOf: (field: string) => (field === blamed.value ? sentence(failure.value?.message ?? '', field) : undefined),
    /** What no field of the form is to blame for. */
    general: computed(() => (blamed.value ? undefined : failure.value)),
  }
}

/** "email: must be an address" beside the field itself: "Must be an address". */
function sentence(message: string, field: string) {
  const text = message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message
  return text.charAt(0).toUpperCase() + text.slice(1)
}
