import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'

/** Returns a URL query parameter as a writable ref. The default is omitted from the URL. A change removes the parameters in `resets`. */
export function useQueryParam<Value extends string>(
  name: string,
  fallback: Value,
  { allowed, resets = [], replace = false }: { allowed?: readonly Value[]; resets?: string[]; replace?: boolean } = {},
) {
  const route = useRoute()
  const router = useRouter()
  return computed<Value>({
    get() {
      const value = [route.query[name]].flat()[0] as Value | null | undefined
      return value == null || (allowed && !allowed.includes(value)) ? fallback : value
    },
    set(value) {
      const query = { ...route.query, [name]: value === fallback ? undefined : value }
      for (const other of resets) delete query[other]
      void router[replace ? 'replace' : 'push']({ query, hash: route.hash })
    },
  })
}

/** Returns the page number from the URL parameter `page`, starting at 1. */
export function usePageNumber() {
  const param = useQueryParam<string>('page', '1')
  return computed(() => Math.max(1, Math.floor(Number(param.value)) || 1))
}

/** Returns a URL query parameter as a writable boolean, for example to open a dialog. */
export function useQueryFlag(name: string) {
  const param = useQueryParam<string>(name, '', { replace: true })
  return computed({ get: () => param.value !== '', set: (isSet) => (param.value = isSet ? '1' : '') })
}
