/** Returns the CPU time in milliseconds that this process spends on `work`. Other processes hardly change it, unlike the elapsed time. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
