import { useLocalStorage } from '@vueuse/core'
import { computed } from 'vue'
import type { Shell } from '../generated/graphql.ts'

export type Tool = 'dart' | 'flutter'

const shells: readonly string[] = ['POSIX', 'POWERSHELL', 'CMD'] satisfies Shell[]
const isShell = (name: string): name is Shell => shells.includes(name)
const usualShell: Shell = /Windows/.test(navigator.userAgent) ? 'POWERSHELL' : 'POSIX'

const storedShell = useLocalStorage<string>('snug-shell', usualShell)
/** The shell that commands are shown for: the one that the user selected last. */
export const preferredShell = computed<Shell>({
  get: () => (isShell(storedShell.value) ? storedShell.value : usualShell),
  set: (shell) => (storedShell.value = shell),
})

const storedTool = useLocalStorage<string>('snug-tool', 'dart')
/** The tool that commands are shown for: the one that the user selected last. */
export const preferredTool = computed<Tool>({
  get: () => (storedTool.value === 'flutter' ? 'flutter' : 'dart'),
  set: (tool) => (storedTool.value = tool),
})

/** Replaces the program of a command: `dart pub add acme` becomes `flutter pub add acme`. */
export const withTool = (command: string, tool: Tool) => command.replace(/^(dart|flutter)\b/, tool)
