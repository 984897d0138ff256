import { useLocalStorage } from '@vueuse/core'
import { computed } from 'vue'
import type { AddCommandsFragment } from '../generated/graphql.ts'

export type Tool = 'dart' | 'flutter'

/** A shell that needs its own quoting. */
export type Shell = 'posix' | 'powershell' | 'cmd'

/** The prompts of the shells. */
export const prompts: Record<Shell, string> = { posix: '$', powershell: 'PS>', cmd: '>' }

const isShell = (name: string): name is Shell => name in prompts
const usualShell: Shell = /Windows/.test(navigator.userAgent) ? 'powershell' : 'posix'

const storedShell = useLocalStorage<string>('snug-shell', usualShell)
/** The shell that commands are shown for, which is the last selected one. */
export const preferredShell = computed<Shell>({
  get: () => (isShell(storedShell.value) ? storedShell.value : usualShell),
  set: (shell) => (storedShell.value = shell),
})

const storedTool = useLocalStorage<string>('snug-tool', 'dart')
/** The tool that commands are shown for, which is the last selected one. */
export const preferredTool = computed<Tool>({
  get: () => (storedTool.value === 'flutter' ? 'flutter' : 'dart'),
  set: (tool) => (storedTool.value = tool),
})

/** The CI service that files are shown for, which is the last selected one. */
export const preferredService = useLocalStorage<string>('snug-ci', 'github')

/** Returns the command that adds a package, for the selected shell and tool. */
export const addCommand = (commands: AddCommandsFragment, tool: Tool) => withTool(commands[preferredShell.value], tool)

/** Replaces the program of a command: `dart pub add acme` becomes `flutter pub add acme`. */
export const withTool = (command: string, tool: Tool) => command.replace(/^(dart|flutter)\b/, tool)
