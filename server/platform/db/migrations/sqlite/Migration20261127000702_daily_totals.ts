import { Migration } from '@mikro-orm/migrations'

// Published versions and downloads per day (days since 1970), without those that were deleted, for statistics. Triggers keep them up to date, also for
// servers of the previous release. They are filled here, and compared with the other tables when the server starts (server/operations/stats/samples.ts).
export class Migration20261127000702_daily_totals extends Migration {
  override up() {
    this.addSql('create table `daily_totals` (`day` integer not null primary key, `publications` integer not null, `downloads` integer not null);')
    this.addSql(`insert into daily_totals (day, publications, downloads) select day, sum(publications), sum(downloads) from (
      select ${dayOf('created_at')} as day, count(*) as publications, 0 as downloads from package_versions group by 1
      union all select day, 0, sum(downloads) from package_downloads group by day) group by day;`)
    for (const [change, row, sign] of [['insert', 'new', ''], ['delete', 'old', '-']] as const) {
      this.addSql(`create trigger package_versions_day_${change} after ${change} on package_versions begin ${add(dayOf(`${row}.created_at`), `${sign}1`, '0')} end;`)
      this.addSql(`create trigger package_downloads_day_${change} after ${change} on package_downloads begin ${add(`${row}.day`, '0', `${sign}${row}.downloads`)} end;`)
    }
    this.addSql(`create trigger package_downloads_day_update after update of downloads on package_downloads begin ${add('new.day', '0', 'new.downloads - old.downloads')} end;`)
  }
}

const dayOf = (time: string) => `${time} / 86400000`

const add = (day: string, publications: string, downloads: string) => `insert into daily_totals (day, publications, downloads)
  values (${day}, ${publications}, ${downloads})
  on conflict (day) do update set publications = publications + excluded.publications, downloads = downloads + excluded.downloads;`
