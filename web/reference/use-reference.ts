import { computed, onMounted, shallowRef } from 'vue'
import type { Failure } from '../graphql.ts'
import type { OpenApi } from './openapi.ts'
import { groupsOf } from './reference.ts'

/** Loads the reference. */
export function useReference() {
  const document = shallowRef<OpenApi>()
  const failure = shallowRef<Failure>()
  async function load() {
    failure.value = undefined
    try {
      const response = await fetch(new URL('api/docs/openapi.json', window.document.baseURI))
      if (!response.ok) throw new Error(`The server answered with the status ${response.status}.`)
      document.value = (await response.json()) as OpenApi
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      failure.value = { code: 'Unreachable', message: `The reference could not be loaded: ${message}` }
    }
  }
  onMounted(load)
  return {
    server: computed(() => document.value?.servers[0]?.url),
    groups: computed(() => document.value && groupsOf(document.value)),
    failure,
    load,
  }
}
