import { onScopeDispose, ref, shallowRef } from 'vue'
import { type Failure, isDeclined } from '../graphql.ts'

/** An action on many rows: one mutation for each, one after another. */
export interface BulkAction<Item> {
  label: string
  icon: string
  tone?: 'error' | 'primary'
  /** What is done to a number of rows, and the consequences. */
  title: (count: string) => string
  description: string
  /** Label of the confirm button: a verb. */
  action: string
  /** Text that the user must type to confirm, for a number of rows. */
  phrase?: (count: string) => string
  /** The choice that the action needs, such as a role. */
  choice?: { label: string; items: readonly { value: string; label: string }[] }
  /** Changes a row. Returns the failure, if any. */
  run: (item: Item, choice: string) => Promise<Failure | undefined>
  /** Past tense of the action, for the report: "Deleted". */
  done: string
}

export interface FailedItem<Item> {
  item: Item
  failure: Failure
}

/** Runs a change for many items. Continues after failures, and waits when the server asks for it. */
export function useBulkRun<Item>() {
  const state = ref<'idle' | 'running' | 'done'>('idle')
  const total = ref(0)
  const succeeded = ref(0)
  const failed = shallowRef<readonly FailedItem<Item>[]>([])
  const current = shallowRef<Item>()
  const waitsFor = ref(0)
  /** Items that were not tried yet. */
  const left = shallowRef<readonly Item[]>([])
  let stop = () => {}
  let isStopped = false

  async function start(items: readonly Item[], change: (item: Item) => Promise<Failure | undefined>) {
    total.value = items.length
    succeeded.value = 0
    failed.value = []
    left.value = items
    isStopped = false
    state.value = 'running'
    for (let [item] = left.value; item !== undefined && !isStopped; [item] = left.value) {
      const failure = await attempt(item, change)
      left.value = left.value.slice(1)
      if (failure) failed.value = [...failed.value, { item, failure }]
      else succeeded.value++
      if (failure && isDeclined(failure)) cancel()
    }
    current.value = undefined
    state.value = 'done'
  }

  async function attempt(item: Item, change: (item: Item) => Promise<Failure | undefined>): Promise<Failure | undefined> {
    for (;;) {
      current.value = item
      const failure = await change(item)
      if (!failure?.retryAfter || isStopped) return failure
      waitsFor.value = failure.retryAfter
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitsFor.value * 1000)
        stop = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      waitsFor.value = 0
      if (isStopped) return failure
    }
  }

  /** Stops after the change that is being made. */
  function cancel() {
    isStopped = true
    stop()
  }
  onScopeDispose(cancel)
  const reset = () => void (state.value = 'idle')
  return { state, total, succeeded, failed, left, current, waitsFor, start, cancel, reset }
}
