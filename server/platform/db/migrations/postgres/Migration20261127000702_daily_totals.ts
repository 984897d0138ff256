import { Migration } from '@mikro-orm/migrations'

// Published versions and downloads per day (days since 1970), without those that were deleted, for statistics. Triggers keep them up to date, also for
// servers of the previous release. They are filled here, and compared with the other tables when the server starts (server/operations/stats/samples.ts).
// As with the counts of dependents, they change at the commit, in one transaction after the other.
export class Migration20261127000702_daily_totals extends Migration {
  override up() {
    this.addSql('create table "daily_totals" ("day" int not null primary key, "publications" bigint not null, "downloads" bigint not null);')
    this.addSql(`insert into daily_totals (day, publications, downloads) select day, sum(publications), sum(downloads) from (
      select ${dayOf('created_at')} as day, count(*) as publications, 0 as downloads from package_versions group by 1
      union all select day, 0, sum(downloads) from package_downloads group by day) days group by day;`)
    this.addSql(`create function daily_totals_change() returns trigger language plpgsql as $$
      declare
        changed int;
        publications bigint := 0;
        downloads bigint := 0;
      begin
        if tg_table_name = 'package_versions' then
          changed := ${dayOf('coalesce(new.created_at, old.created_at)')};
          publications := case tg_op when 'INSERT' then 1 else -1 end;
        else
          changed := coalesce(new.day, old.day);
          downloads := coalesce(new.downloads, 0) - coalesce(old.downloads, 0);
        end if;
        perform pg_advisory_xact_lock(7305514903);
        insert into daily_totals as d (day, publications, downloads) values (changed, publications, downloads)
          on conflict (day) do update set publications = d.publications + excluded.publications, downloads = d.downloads + excluded.downloads;
        return null;
      end $$;`)
    // Without a fixed search path, a temporary table of the same name would take precedence.
    this.addSql(`do $$ begin execute format('alter function daily_totals_change() set search_path = %I, pg_temp', current_schema()); end $$;`)
    this.addSql(`create constraint trigger package_versions_day after insert or delete on package_versions
      deferrable initially deferred for each row execute function daily_totals_change();`)
    this.addSql(`create constraint trigger package_downloads_day after insert or update or delete on package_downloads
      deferrable initially deferred for each row execute function daily_totals_change();`)
  }
}

const dayOf = (time: string) => `floor(extract(epoch from ${time}) / 86400)::int`
